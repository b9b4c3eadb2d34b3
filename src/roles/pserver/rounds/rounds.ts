/**
 * Sync mode on a pserver: keeps the lanes of the current round, applies them when the last one has arrived, lets pulls
 * of a version wait for it, and has cuts saved (DESIGN §6). `src/core/rounds/gates.ts` decides what is accepted when.
 * Units that came from another pserver may be at another version for a while: each group of units at one version takes
 * lanes and applies rounds by itself.
 *
 * A lane is checked whole when it arrives. So applying a round fails only for want of memory or when sums overflow;
 * both would fail again on every try, and fail the job.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Clock } from '../../../base/seams.ts';
import type { RoundsMeta } from '../../../checkpoint/file/format.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import { asSuspended } from '../../../cluster/as-suspended.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { addPassMetrics, type PassMetrics } from '../../../core/pass-metrics.ts';
import type { PlacementStamp } from '../../../core/placement.ts';
import { createRoundGates, type RoundGates } from '../../../core/rounds/gates.ts';
import { type Grouping, shardsOfUnits } from '../../../core/units/units.ts';
import type { Session } from '../../../protocol/messages/channel.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import { foldLanes, type RoundGradients } from '../../../tensor/lane-fold.ts';
import type { ShardParts } from '../../../tensor/shard-parts.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import { checkHeld, checkStamp } from '../checks.ts';
import type { SnapshotSource } from '../files/snapshots.ts';
import { keepPreImage, PreImage, withOldValues } from '../pre-image.ts';
import { readValues, type ValueSource } from '../request-parts.ts';
import type { Header, Reply, Request } from '../requests.ts';
import type { OwnedShards } from '../shards.ts';
import type { ForwardedRound, OldValues, TimedRounds, UnitRounds } from '../unit-rounds.ts';
import type { Moves } from '../units/moves.ts';
import { type CutSave, CutSaves } from './cut-saves.ts';
import {
  type KeptRounds,
  keptAt,
  laneOfShards,
  lanesOf,
  mergeKept,
  restrictKept,
  type UnitGroup,
} from './kept-rounds.ts';
import { checkLane, checkSameLane, type LaneCountsOf } from './lane-counts.ts';
import { checkLaneNumber, type Lane, readLane } from './lanes.ts';
import { longPoll } from './long-poll.ts';
import { draining, pending, roundAhead, staleTimeline, versionGone } from './refusals.ts';

export interface RoundsOptions {
  readonly clock: Clock;
  readonly timeline: number;
  /** Of the job. */
  readonly lanes: number;
  readonly spec: ParameterSpec;
  readonly grouping: Grouping;
  readonly router: IdRouter;
  readonly shards: OwnedShards;
  /** Where each unit is, as it was loaded. */
  readonly loaded: ReadonlyMap<number, RoundsMeta>;
  /** What lanes may say of their records. */
  readonly counts: Omit<LaneCountsOf, 'ledgers'>;
  readonly isHeld: () => boolean;
  readonly isFrozen: () => boolean;
  readonly moves: Pick<Moves, 'wait' | 'applied'>;
  /** Writes and publishes what `source` gives when its turn comes. */
  readonly save: (source: () => SnapshotSource) => Promise<CheckpointFile>;
  /** A round cannot be applied: the job has to fail. */
  readonly onFatal: (error: PaddletError) => void;
}

export interface LaneAnswer {
  readonly reply: Reply;
  /** To be awaited before the reply is sent: a unit is on the move, and too far behind. */
  readonly forwarded: Promise<void> | undefined;
}

/** A cut that is announced but not reached in this time is declined; the master announces it again. */
const CUT_WAIT_MS = 60_000;

export class Rounds {
  readonly gates: RoundGates<KeptRounds>;
  readonly #options: RoundsOptions;
  /** What cuts lanes and old values into those of some shards. */
  readonly #parts: ShardParts;
  readonly #cuts: CutSaves;
  readonly #changed = createSignal();
  readonly #closed = new AbortController();
  /** When the last lane of a round arrived, before the round was applied. */
  #completeMs = Number.NEGATIVE_INFINITY;
  #received = 0;
  #duplicate = 0;
  /** By lane: the newest round of which a duplicate was counted. */
  readonly #counted = new Map<number, number>();

  constructor(options: RoundsOptions) {
    const { spec, router, timeline, lanes, shards, loaded, grouping } = options;
    this.#options = options;
    this.#parts = { spec, router, shards: grouping.shards };
    this.#cuts = new CutSaves(options);
    this.gates = createRoundGates({ timeline, lanes, mergeKept });
    for (const unit of shards.heads.units()) {
      const { round, metrics } = loaded.get(unit)!;
      this.gates.add(unit, { version: round, keepsPrevious: false }, keptAt(lanes, metrics));
    }
  }

  /** To be awaited before a lane is taken, until it is undefined: a unit is being handed over. */
  untilUpdatable(): Promise<void> | undefined {
    return this.#options.moves.wait('update');
  }

  /** Exactly the version asked for. Throws `VersionPending`, `VersionGone`, `StaleTimeline`, `Draining`. */
  async pull(request: Request<'pullVersion'>, session: Session): Promise<Reply> {
    const { header } = request;
    const arrivedMs = this.#options.clock.monotonicMs();
    const source = await this.#until(() => this.#sourceOf(header), header.maxWaitMs, session);
    const waitedMs = Math.max(0, Math.floor(this.#completeMs - arrivedMs));
    await this.#untilAnswerable();
    checkHeld(this.#options);
    // The version or the units may have changed between the wake-up and now.
    const current = this.#sourceOf(header) ?? source;
    if (current === undefined) throw pending(this.gates, header.version);
    return { header: { type: 'pullVersion', waitedMs }, segments: readValues(this.#options.spec, current, request) };
  }

  /**
   * Throws `RoundAhead`, `StaleTimeline`, `Draining`, and `BadMessage` and others for a lane that cannot be applied.
   */
  pushLane(request: Request<'pushLane'>): LaneAnswer {
    const { gates } = this;
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

  /** Which round this pserver is at, once all its units are above the one named or the time is over. */
  async position({ header }: Request<'rounds'>, session: Session): Promise<Reply> {
    const { gates } = this;
    const { above, maxWaitMs } = header;
    const isAbove = (): true | undefined => {
      this.#checkUnits(header);
      return above === undefined || gates.version() > above ? true : undefined;
    };
    await this.#until(isAbove, maxWaitMs, session);
    await this.#untilAnswerable();
    checkHeld(this.#options);
    this.#checkUnits(header);
    return {
      header: {
        type: 'rounds',
        timeline: gates.timeline,
        version: gates.version(),
        oldest: gates.oldest(),
        missing: gates.missing(),
      },
    };
  }

  /** Saves the shards as they are when all are at that round, and answers when the file is published. */
  async cut({ header }: Request<'cut'>, session: Session): Promise<Reply> {
    const { gates } = this;
    const { round, timeline } = header;
    const isPast = (): boolean => gates.highest() > round;
    const isAt = (): boolean => gates.version() === round && !isPast();
    const known = this.#cuts.of(round);
    if (timeline !== gates.timeline || (known === undefined && isPast())) return declined(gates);
    if (this.#options.isFrozen()) throw draining();
    if (known === undefined && !isAt()) {
      this.#cuts.plan(round);
      const isOver = (): CutSave | true | undefined => {
        this.#checkUnits(header);
        return this.#cuts.of(round) ?? (isPast() || undefined);
      };
      await this.#until(isOver, CUT_WAIT_MS, session);
    }
    const save = this.#cuts.of(round) ?? (isAt() ? this.#cuts.begin(round, this.metrics()) : undefined);
    if (save === undefined) {
      this.#cuts.cancelPlan(round);
      return declined(gates);
    }
    const { uuid, md5, bytes } = await save.file.catch(asSuspended);
    return { header: { type: 'cut', outcome: 'saved', version: gates.version(), saved: { uuid, md5, bytes } } };
  }

  /** Up to the version that all units have reached. */
  metrics(): readonly PassMetrics[] {
    const lowest = this.gates.groups().find(({ gate }) => gate.version() === this.gates.version());
    return lowest?.kept.metrics ?? [];
  }

  /** Records of lanes that were taken since the start and of duplicates, one for each lane of a round; and of those. */
  observed(): { readonly received: number; readonly duplicate: number } {
    return { received: this.#received, duplicate: this.#duplicate };
  }

  /** What the unit takes along to another pserver, or what of it is of these shards. */
  stateOf(unit: number, shards = this.#shardsOf([unit])): TimedRounds {
    const { gate, kept } = this.gates.groupOf(unit);
    const part = kept.previous.map((image) => image.partOf(shards)).find(({ isEmpty }) => !isEmpty);
    return {
      timeline: gate.timeline,
      version: gate.version(),
      previous: gate.oldest() < gate.version() ? (part?.old ?? NO_VALUES) : undefined,
      metrics: kept.metrics,
    };
  }

  /** A unit has come from another pserver; its shards are owned already. */
  add(unit: number, { version, previous, metrics }: UnitRounds): void {
    const images = previous === undefined ? [] : [new PreImage(this.#parts, previous)];
    const at = { version, keepsPrevious: previous !== undefined };
    this.gates.add(unit, at, keptAt(this.#options.lanes, metrics, images));
    this.#moved();
  }

  /** A unit has gone to another pserver, and is owned here no more. Its lanes are dropped: they are pushed there. */
  remove(unit: number): void {
    const left = this.gates.remove(unit);
    if (left !== undefined) restrictKept(this.#parts, left.kept, this.#shardsOf(left.units));
    this.#moved();
  }

  /** Requests that wait are answered with `Draining`: their senders look for the shards' next state or owner. */
  close(): void {
    this.#closed.abort();
  }

  /** Once for each lane of a round, however often it is sent: else a trainer decided what this comes to. */
  #countDuplicate({ lane, round, records }: Request<'pushLane'>['header']): void {
    if (round <= (this.#counted.get(lane) ?? -1)) return;
    this.#counted.set(lane, round);
    this.#received += records;
    this.#duplicate += records;
  }

  /** The lane if some unit keeps it: another trainer has pushed it. */
  #keptLane({ round, lane }: Header<'pushLane'>): Lane | undefined {
    const there = this.gates.groups().find(({ gate, kept }) => gate.version() === round && kept.lanes[lane]);
    return there?.kept.lanes[lane];
  }

  /** Until no unit is being handed over: its next primary may have answered something else already. */
  async #untilAnswerable(): Promise<void> {
    for (let wait = this.#answerable(); wait !== undefined; wait = this.#answerable()) await wait;
  }

  #answerable(): Promise<void> | undefined {
    return this.#options.moves.wait('read');
  }

  #take(request: Request<'pushLane'>, groups: readonly UnitGroup[]): Promise<void> | undefined {
    const { lane } = request.header;
    const nowMs = this.#options.clock.monotonicMs();
    const shardsOf = groups.map((group) => this.#onlyOf(group));
    const taking = shardsOf.includes(undefined) ? undefined : shardsOf.flatMap((shards) => shards!);
    const whole = readLane(this.#options, request, taking);
    this.#received += whole.records;
    groups.forEach(({ kept }, i) => {
      const shards = shardsOf[i];
      kept.lanes[lane] = shards === undefined ? whole : laneOfShards(this.#parts, whole, shards);
      // This lane proves that every unit has the current version: no trainer pulls the one before it any more.
      kept.previous = [];
    });
    failPoint('lane.taken');
    const complete = groups.filter(({ gate }) => gate.accepted(lane));
    if (complete.length > 0) this.#completeMs = nowMs;
    const waits = complete.flatMap((group) => this.#applyRound(group) ?? []);
    if (complete.length > 0) this.#moved();
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
  }

  #applyRound(group: UnitGroup): Promise<void> | undefined {
    try {
      return this.#apply(group);
    } catch (error) {
      if (isPaddletError(error)) this.#options.onFatal(error);
      throw error;
    }
  }

  /** All of it or nothing: `Parameters.push` checks and reserves before it changes anything. */
  #apply(group: UnitGroup): Promise<void> | undefined {
    const { spec, router, shards, moves } = this.#options;
    const { parameters, ledgers } = shards;
    const { gate, kept } = group;
    const only = this.#onlyOf(group);
    // Of the group's shards alone.
    const lanes = lanesOf(kept);
    const gradients = foldLanes(spec, router, lanes);
    this.#cuts.beforeRound(gradients);
    kept.previous = [keepPreImage(this.#parts, parameters, gradients)];
    if (hasAny(gradients)) parameters.push(gradients.sparse, gradients.dense, shards.actions(undefined));
    failPoint('round.applied');
    for (const { position, metrics } of lanes) {
      if (position === undefined) continue;
      ledgers.advance(position, only);
      kept.metrics = addPassMetrics(kept.metrics, position.pass, metrics);
    }
    shards.advance(only);
    kept.lanes.fill(undefined);
    const round = gate.version();
    gate.advance();
    const batches = lanes.flatMap(({ position, metrics }) => (position === undefined ? [] : [{ position, metrics }]));
    const made = (): ForwardedRound => ({ type: 'round', timeline: gate.timeline, round, batches, ...gradients });
    return moves.applied(made, group.units);
  }

  /** Units are at another version than before, or are others. */
  #moved(): void {
    const { gates } = this;
    gates.merge();
    const version = gates.version();
    if (gates.groups().length > 0 && gates.highest() === version) this.#cuts.reached(version, this.metrics());
    this.#changed.notify();
  }

  /** Shards of the group; undefined when it has all that are owned. */
  #onlyOf({ units }: UnitGroup): readonly number[] | undefined {
    return this.gates.groups().length === 1 ? undefined : this.#shardsOf(units);
  }

  #shardsOf(units: readonly number[]): readonly number[] {
    return shardsOfUnits(units, this.#options.grouping);
  }

  /** A unit that came or went while the request waited: the answer would be of other units than the sender means. */
  #checkUnits({ placement }: { readonly placement?: PlacementStamp | undefined }): void {
    if (placement !== undefined) checkStamp(this.#options.shards, placement);
  }

  /** Where the values of a version are read; undefined while a unit has yet to reach it. */
  #sourceOf(wanted: Header<'pullVersion'>): ValueSource | undefined {
    const { gates } = this;
    this.#checkUnits(wanted);
    const judged = gates.judgePull(wanted);
    switch (judged.verdict) {
      case 'read':
        return withOldValues(
          this.#options.shards.parameters,
          judged.previous.flatMap(({ kept }) => kept.previous),
        );
      case 'wait':
        return undefined;
      case 'gone':
        throw versionGone(gates, wanted.version);
      case 'otherTimeline':
        throw staleTimeline(gates, wanted.timeline);
    }
  }

  #until<T>(look: () => T | undefined, maxWaitMs: number, session: Session): Promise<T | undefined> {
    const { clock } = this.#options;
    return longPoll(look, {
      ...{ clock, session, maxWaitMs, changed: this.#changed },
      done: this.#closed.signal,
      doneError: draining,
    });
  }
}

const hasAny = ({ dense, sparse }: RoundGradients): boolean => dense.length + sparse.length > 0;

const NO_VALUES: OldValues = { dense: [], sparse: [] };

const declined = (gates: RoundGates<KeptRounds>): Reply => ({
  header: { type: 'cut', outcome: 'declined', version: gates.highest() },
});
