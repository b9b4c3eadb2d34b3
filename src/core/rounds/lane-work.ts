/**
 * What a trainer in sync mode does next with the lanes that it was given (docs/modes.md): a pure machine. It knows
 * the position of the rounds, which lanes are this trainer's, and what it keeps of the current round: a computed lane
 * is kept, to be pushed again, until every unit of shards has confirmed the next version.
 */
import { assert } from '../../base/assert.ts';

export interface RoundPosition {
  readonly timeline: number;
  /** The lowest of any pserver: the current round. */
  readonly version: number;
  /** The lowest version that every pserver can still give. */
  readonly oldest: number;
}

export type LaneStep =
  /** Nothing to do before lanes are handed out. */
  | { readonly do: 'standBy' }
  /** Ask for the position of the rounds. */
  | { readonly do: 'look' }
  /** All rounds that may be computed are done. */
  | { readonly do: 'finished' }
  /** Compute these lanes from the version of the round, and push them. */
  | { readonly do: 'compute'; readonly lanes: readonly number[] }
  /** Lanes are wanted that can no longer be computed: a pserver cannot give the version. */
  | { readonly do: 'reportStuck' }
  /** Make sure that every pserver has what is kept, and wait for the next version. */
  | { readonly do: 'exchange' };

export interface LaneWork<Kept> {
  /** Undefined while it has to be asked for. */
  at(): RoundPosition | undefined;
  /** `until`: rounds that may be computed. */
  assigned(lanes: readonly number[], until: number): void;
  positionKnown(position: RoundPosition): void;
  /** The position of the rounds is in doubt. */
  disturbed(): void;
  computed(lane: number, kept: Kept): void;
  /** It could not be computed; it is left alone until `retry` or the next round. */
  failed(lane: number): void;
  retry(): void;
  hasFailed(): boolean;
  /** Every unit of shards has the next version. */
  confirmed(): void;
  /** What is kept, in lane order. */
  kept(): readonly Kept[];
  next(): LaneStep;
}

export function createLaneWork<Kept>(): LaneWork<Kept> {
  let rounds = 0;
  let mine: readonly number[] = [];
  let position: RoundPosition | undefined;
  /** The round that `kept` and `failures` are of. */
  let round: { readonly timeline: number; readonly version: number } | undefined;
  const kept = new Map<number, Kept>();
  const failures = new Set<number>();

  const moveTo = (next: RoundPosition): void => {
    if (next.timeline !== round?.timeline || next.version !== round.version) {
      kept.clear();
      failures.clear();
    }
    round = { timeline: next.timeline, version: next.version };
    position = next;
  };

  return {
    at: () => position,
    assigned: (lanes, until) => {
      mine = lanes;
      rounds = until;
    },
    positionKnown: moveTo,
    disturbed: () => {
      position = undefined;
    },
    computed(lane, one) {
      assert(position !== undefined, 'a lane is computed at a known version');
      kept.set(lane, one);
    },
    failed(lane) {
      kept.delete(lane);
      failures.add(lane);
    },
    retry: () => failures.clear(),
    hasFailed: () => failures.size > 0,
    confirmed() {
      assert(position !== undefined, 'a version is confirmed from a known one on');
      const { timeline, version } = position;
      moveTo({ timeline, version: version + 1, oldest: version + 1 });
    },
    kept: () => [...kept].sort(([a], [b]) => a - b).map(([, one]) => one),
    next() {
      if (mine.length === 0 && kept.size === 0) {
        // The others continue in that time.
        position = undefined;
        return { do: 'standBy' };
      }
      if (position === undefined) return { do: 'look' };
      if (position.version >= rounds) return { do: 'finished' };
      const open = mine.filter((lane) => !kept.has(lane) && !failures.has(lane));
      if (open.length === 0) return { do: 'exchange' };
      return position.oldest > position.version ? { do: 'reportStuck' } : { do: 'compute', lanes: open };
    },
  };
}
