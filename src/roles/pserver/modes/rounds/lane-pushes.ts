/**
 * Sync mode: takes the lanes of the current round, and applies the round when its last lane has arrived. Where units
 * have copies, the round is applied when all copies have it (placed-rounds.ts). Each lane is checked completely when it
 * arrives. So applying a round fails only if memory runs out or sums overflow. Every retry would fail as well, so such
 * an error fails the job.
 */
import { isPaddletError, type PaddletError } from '../../../../base/errors.ts';
import { failPoint } from '../../../../base/fail-points.ts';
import type { Clock } from '../../../../base/seams.ts';
import type { RoundGradients } from '../../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../../tensor/spec.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import type { Header, Reply, Request } from '../../requests/requests.ts';
import type { Moves } from '../../transfer/moves.ts';
import type { UnitGroup } from './group-rounds.ts';
import { checkLane, checkSameLane, type LaneCountsOf } from './lane-counts.ts';
import { checkLaneNumber, type Lane, readLane } from './lanes.ts';
import type { PlacedRounds } from './placed-rounds.ts';
import { draining, roundAhead, staleTimeline } from './refusals.ts';
import type { RoundGroups } from './round-groups.ts';

export interface LanePushesOptions {
  readonly clock: Clock;
  /** Number of lanes of the job. */
  readonly lanes: number;
  readonly spec: ParameterSpec;
  readonly shards: OwnedShards;
  /** Plan and check of the counts in lanes. */
  readonly counts: Omit<LaneCountsOf, 'ledgers'>;
  readonly isFrozen: () => boolean;
  readonly moves: Pick<Moves, 'applied'>;
  /** Set if units have copies: a round is applied when all copies have it. */
  readonly placed?: Pick<PlacedRounds, 'begin'> | undefined;
  /** Called if a round cannot be applied: the job has to fail. */
  readonly onFatal: (error: PaddletError) => void;
}

export interface LaneEvents {
  /** Called before a round with these gradients is applied. */
  readonly beforeRound: (gradients: RoundGradients) => void;
  /** Called after units have completed a round. */
  readonly onMoved: () => void;
}

export interface LaneAnswer {
  readonly reply: Reply;
  /** To be awaited before the reply is sent; set if the copy of a moving unit is too far behind. */
  readonly forwarded: Promise<void> | undefined;
}

export class LanePushes {
  readonly #options: LanePushesOptions;
  readonly #groups: RoundGroups;
  readonly #events: LaneEvents;
  #completeMs = Number.NEGATIVE_INFINITY;
  #received = 0;
  #duplicate = 0;
  /** By lane: the newest round for which a duplicate was counted. */
  readonly #counted = new Map<number, number>();

  constructor(options: LanePushesOptions, groups: RoundGroups, events: LaneEvents) {
    this.#options = options;
    this.#groups = groups;
    this.#events = events;
  }

  /**
   * Takes a lane, or recognizes a duplicate. Throws `RoundAhead`, `StaleTimeline`, `Draining`, and `BadMessage` or
   * other errors for a lane that cannot be applied.
   */
  push(request: Request<'pushLane'>): LaneAnswer {
    const { gates } = this.#groups;
    const { header } = request;
    checkLaneNumber(header.lane, this.#options);
    const judged = gates.judgeLane(header);
    if (judged.verdict === 'otherTimeline') throw staleTimeline(gates, header.timeline);
    if (judged.verdict === 'ahead') throw roundAhead(gates, header.round);
    const { counts, shards } = this.#options;
    checkLane({ ...counts, ledgers: shards.ledgers }, header);
    const kept = this.#keptLane(header);
    if (kept !== undefined) checkSameLane(counts, kept, header);
    if (judged.verdict === 'duplicate') {
      this.#countDuplicate(header);
      const reply: Reply = { header: { type: 'pushLane', outcome: 'duplicate', version: gates.version() } };
      return { reply, forwarded: undefined };
    }
    if (this.#options.isFrozen()) throw draining();
    const forwarded = this.#take(request, judged.groups);
    return { reply: { header: { type: 'pushLane', outcome: 'taken', version: gates.version() } }, forwarded };
  }

  /** When the newest complete round got its last lane, before the round was applied. */
  get completeMs(): number {
    return this.#completeMs;
  }

  /**
   * Numbers of records since the start. `duplicate`: records of duplicate lanes, at most one duplicate for each lane of
   * a round. `received`: these and the records of the lanes taken.
   */
  observed(): { readonly received: number; readonly duplicate: number } {
    return { received: this.#received, duplicate: this.#duplicate };
  }

  /**
   * Counts one duplicate for each lane of a round, however often it is sent. Otherwise a trainer could inflate the
   * counts.
   */
  #countDuplicate({ lane, round, records }: Request<'pushLane'>['header']): void {
    if (round <= (this.#counted.get(lane) ?? -1)) return;
    this.#counted.set(lane, round);
    this.#received += records;
    this.#duplicate += records;
  }

  /** The lane, if some unit keeps it because a trainer has already pushed it. */
  #keptLane({ round, lane }: Header<'pushLane'>): Lane | undefined {
    const { gates } = this.#groups;
    const there = gates.groups().find(({ gate, kept }) => gate.version() === round && kept.lanes[lane]);
    return there?.kept.lanes[lane];
  }

  #take(request: Request<'pushLane'>, groups: readonly UnitGroup[]): Promise<void> | undefined {
    const { lane } = request.header;
    const nowMs = this.#options.clock.monotonicMs();
    const shardsOf = groups.map((group) => this.#groups.shardsOf(group));
    const taking = shardsOf.includes(undefined) ? undefined : shardsOf.flatMap((shards) => shards!);
    const whole = readLane(this.#options, request, taking, this.#groups.memory);
    this.#received += whole.records;
    this.#groups.keep(groups, lane, whole);
    failPoint('lane.taken');
    const complete = groups.filter(({ gate }) => gate.accepted(lane));
    if (complete.length > 0) this.#completeMs = nowMs;
    const waits = complete.flatMap((group) => this.#applyRound(group) ?? []);
    if (complete.length > 0 && this.#options.placed === undefined) this.#events.onMoved();
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
  }

  #applyRound(group: UnitGroup): Promise<void> | undefined {
    const { moves, placed, onFatal } = this.#options;
    try {
      if (placed !== undefined) {
        placed.begin(group);
        return undefined;
      }
      return this.#groups.apply(group, this.#events.beforeRound, (make) => moves.applied(make, group.units));
    } catch (error) {
      if (isPaddletError(error)) onFatal(error);
      throw error;
    }
  }
}
