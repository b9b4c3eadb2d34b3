/**
 * What a unit of shards does with the lanes of a round and with pulls that name a version (docs/modes.md): a pure
 * machine without the values. `gates.ts` has those of all units of a pserver, which usually are one.
 *
 * Version `r` is what the rounds below `r` have made. A round is complete when all its lanes are there; then, and not
 * before, version `r + 1` exists. Version `r` stays readable beside `r + 1` until a lane of round `r + 1` arrives: such
 * a push proves that every unit has confirmed `r + 1`, so round `r` never has to be computed again. The other half
 * of the barrier, when a trainer may push to round `r + 1`, is in `lane-work.ts` and `cluster/client/round-barrier.ts`.
 */
import { assert } from '../../base/assert.ts';

export interface LanePosition {
  readonly timeline: number;
  readonly round: number;
  readonly lane: number;
}

export interface VersionWanted {
  readonly timeline: number;
  readonly version: number;
}

export type LaneVerdict =
  /** Keep it: the round wants it. */
  | 'take'
  /** The round has it, or is past. */
  | 'duplicate'
  /** The round has not started here: the sender cannot have seen it begin. */
  | 'ahead'
  | 'otherTimeline';

export type PullVerdict =
  | 'current'
  /** The version before the current one, from what was kept of it. */
  | 'previous'
  /** It is still to come: wait. */
  | 'wait'
  /** It is past and was not kept. */
  | 'gone'
  | 'otherTimeline';

export interface RoundGate {
  readonly timeline: number;
  version(): number;
  /** The lowest version that can be read: the current one or the one before. */
  oldest(): number;
  /** Lanes that the current round still wants, ascending. */
  missing(): number[];
  judgeLane(position: LanePosition): LaneVerdict;
  judgePull(wanted: VersionWanted): PullVerdict;
  /** After `take`. True when it was the last lane of the round. */
  accepted(lane: number): boolean;
  /** The complete round was applied: one version further. */
  advance(): void;
}

export interface GateStart {
  readonly timeline: number;
  readonly version: number;
  readonly lanes: number;
  /** The version before is readable, too: a unit brought it from another pserver. Default: false. */
  readonly keepsPrevious?: boolean;
}

export function createRoundGate({ timeline, lanes, ...start }: GateStart): RoundGate {
  const here = new Set<number>();
  let version = start.version;
  let keepsPrevious = start.keepsPrevious ?? false;
  return {
    timeline,
    version: () => version,
    oldest: () => (keepsPrevious ? version - 1 : version),
    missing: () => Array.from({ length: lanes }, (_, lane) => lane).filter((lane) => !here.has(lane)),
    judgeLane(position) {
      if (position.timeline !== timeline) return 'otherTimeline';
      if (position.round > version) return 'ahead';
      if (position.round < version || here.has(position.lane)) return 'duplicate';
      return 'take';
    },
    judgePull(wanted) {
      if (wanted.timeline !== timeline) return 'otherTimeline';
      if (wanted.version === version) return 'current';
      if (wanted.version > version) return 'wait';
      return keepsPrevious && wanted.version === version - 1 ? 'previous' : 'gone';
    },
    accepted(lane) {
      assert(lane >= 0 && lane < lanes && !here.has(lane), 'a lane is taken once a round');
      here.add(lane);
      keepsPrevious = false;
      return here.size === lanes;
    },
    advance() {
      assert(here.size === lanes, 'a round is applied when all its lanes are there');
      here.clear();
      version += 1;
      keepsPrevious = true;
    },
  };
}
