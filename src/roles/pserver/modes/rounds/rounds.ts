/**
 * Sync mode on a pserver: keeps the lanes of the current round, applies them when the last one has arrived
 * (lane-pushes.ts), lets pulls of a version wait for it, and has cuts saved (docs/modes.md).
 * `src/core/rounds/gates.ts` decides what is accepted when. Units that came from another pserver may be at another
 * version for a while: each group of units at one version takes lanes and applies rounds by itself (round-groups.ts).
 */
import { isPaddletError } from '../../../../base/errors.ts';
import type { CheckpointFile } from '../../../../checkpoint/file/write-durable-file.ts';
import { asSuspended } from '../../../../cluster/as-suspended.ts';
import { createSignal } from '../../../../cluster/waiting.ts';
import type { PlacementStamp } from '../../../../core/placement.ts';
import type { RoundGates } from '../../../../core/rounds/gates.ts';
import type { Session } from '../../../../protocol/messages/channel.ts';
import type { SnapshotSource } from '../../files/snapshots.ts';
import { type ValueSource, withOldValues } from '../../held/pre-image.ts';
import type { TimedRounds, UnitRounds } from '../../held/unit-rounds.ts';
import type { WorkTimes } from '../../metrics.ts';
import { checkHeld, checkStamp } from '../../requests/checks.ts';
import { readValues } from '../../requests/request-parts.ts';
import type { Header, Reply, Request } from '../../requests/requests.ts';
import type { Moves } from '../../transfer/moves.ts';
import type { RoundUpdate } from '../../update/update.ts';
import { type CutSave, CutSaves } from './cut-saves.ts';
import type { KeptRounds } from './kept-rounds.ts';
import { type LaneAnswer, LanePushes, type LanePushesOptions } from './lane-pushes.ts';
import { longPoll } from './long-poll.ts';
import { PlacedRounds, type PlacedRoundsOptions } from './placed-rounds.ts';
import { draining, pending, staleTimeline, versionGone } from './refusals.ts';
import { RoundGroups, type RoundGroupsOptions, type RoundUnits } from './round-groups.ts';

export interface RoundsOptions extends RoundGroupsOptions, Omit<LanePushesOptions, 'moves' | 'placed'> {
  readonly isHeld: () => boolean;
  readonly times: WorkTimes;
  readonly moves: Pick<Moves, 'wait' | 'applied'>;
  /** Undefined: units have one copy. */
  readonly replicas?: PlacedRoundsOptions['replicas'] | undefined;
  /** A bug. */
  readonly onBug: (error: unknown) => void;
  /** Writes and publishes what `source` gives when its turn comes. */
  readonly save: (source: () => SnapshotSource) => Promise<CheckpointFile>;
}

/** A cut that is announced but not reached in this time is declined; the master announces it again. */
const CUT_WAIT_MS = 60_000;

export class Rounds {
  readonly gates: RoundGates<KeptRounds>;
  readonly #options: RoundsOptions;
  readonly #groups: RoundGroups;
  readonly #lanes: LanePushes;
  readonly #cuts: CutSaves;
  readonly #changed = createSignal();
  readonly #closed = new AbortController();

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#groups = new RoundGroups(options);
    this.gates = this.#groups.gates;
    this.#cuts = new CutSaves(options);
    const { replicas } = options;
    const placed = replicas && new PlacedRounds({ ...options, replicas, groups: this.#groups });
    this.#lanes = new LanePushes({ ...options, placed }, this.#groups, {
      beforeRound: (gradients) => this.#cuts.beforeRound(gradients),
      onMoved: () => this.#moved(),
    });
  }

  /**
   * To be awaited before a lane is taken, until it is undefined: a unit is being handed over, or has too few copies for
   * an update.
   */
  untilUpdatable(): Promise<void> | undefined {
    return this.#wait('update');
  }

  /** Exactly the version asked for. Throws `VersionPending`, `VersionGone`, `StaleTimeline`, `Draining`. */
  async pull(request: Request<'pullVersion'>, session: Session): Promise<Reply> {
    const { header } = request;
    const arrivedMs = this.#options.clock.monotonicMs();
    const source = await this.#until(() => this.#sourceOf(header), header.maxWaitMs, session);
    const waitedMs = Math.max(0, Math.floor(this.#lanes.completeMs - arrivedMs));
    await this.#untilAnswerable();
    checkHeld(this.#options);
    // The version or the units may have changed between the wake-up and now.
    const current = this.#sourceOf(header) ?? source;
    if (current === undefined) throw pending(this.gates, header.version);
    const { spec, times } = this.#options;
    const segments = times.during('pull', () => readValues(spec, current, request));
    return { header: { type: 'pullVersion', waitedMs }, segments };
  }

  /** Throws what `LanePushes.push` throws. */
  pushLane(request: Request<'pushLane'>): LaneAnswer {
    return this.#lanes.push(request);
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

  metrics(): ReturnType<RoundGroups['metrics']> {
    return this.#groups.metrics();
  }

  byRound(): RoundUnits[] {
    return this.#groups.byRound();
  }

  observed(): ReturnType<LanePushes['observed']> {
    return this.#lanes.observed();
  }

  stateOf(unit: number, shards?: readonly number[]): TimedRounds {
    return this.#groups.stateOf(unit, shards);
  }

  add(unit: number, rounds: UnitRounds): void {
    this.#groups.add(unit, rounds);
    this.#moved();
  }

  remove(unit: number): void {
    this.#groups.remove(unit);
    this.#moved();
  }

  /** All copies of these units have the round, which waited for that. */
  commit(units: readonly number[], round: RoundUpdate): void {
    try {
      this.#groups.commit(units, round, (gradients) => this.#cuts.beforeRound(gradients));
    } catch (error) {
      if (isPaddletError(error)) this.#options.onFatal(error);
      throw error;
    }
    this.#moved();
  }

  /** Requests that wait are answered with `Draining`: their senders look for the shards' next state or owner. */
  close(): void {
    this.#closed.abort();
  }

  /** Until no unit is being handed over: its next primary may have answered something else already. */
  async #untilAnswerable(): Promise<void> {
    for (let wait = this.#answerable(); wait !== undefined; wait = this.#answerable()) await wait;
  }

  #answerable(): Promise<void> | undefined {
    return this.#wait('read');
  }

  #wait(kind: 'read' | 'update'): Promise<void> | undefined {
    const { moves, replicas } = this.#options;
    return moves.wait(kind) ?? replicas?.wait(kind);
  }

  /** Units are at another version than before, or are others. */
  #moved(): void {
    const { gates } = this;
    gates.merge();
    const version = gates.version();
    if (gates.groups().length > 0 && gates.highest() === version) this.#cuts.reached(version, this.metrics());
    this.#changed.notify();
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

const declined = (gates: RoundGates<KeptRounds>): Reply => ({
  header: { type: 'cut', outcome: 'declined', version: gates.highest() },
});
