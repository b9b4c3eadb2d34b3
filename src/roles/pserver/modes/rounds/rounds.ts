/**
 * Sync mode: collects the lanes of the current round, applies the round when its last lane has arrived
 * (lane-pushes.ts), lets pulls wait for their version, and saves cuts (docs/modes.md). `src/core/rounds/gates.ts`
 * decides which request is accepted when. Units that came from another pserver may be at another version for a while.
 * So each group of units at one version takes lanes and applies rounds by itself (round-groups.ts).
 */
import { isPaddletError } from '../../../../base/errors.ts';
import { asSuspended } from '../../../../cluster/as-suspended.ts';
import { createSignal } from '../../../../cluster/waiting.ts';
import type { PlacementStamp } from '../../../../core/placement.ts';
import type { RoundGates } from '../../../../core/rounds/gates.ts';
import type { Session } from '../../../../protocol/messages/channel.ts';
import { type ValueSource, withOldValues } from '../../held/pre-image.ts';
import type { TimedRounds, UnitRounds } from '../../held/unit-rounds.ts';
import type { WorkTimes } from '../../metrics.ts';
import { checkHeld, checkStamp } from '../../requests/checks.ts';
import { readValues } from '../../requests/request-parts.ts';
import type { Header, Reply, Request } from '../../requests/requests.ts';
import type { Moves } from '../../transfer/moves.ts';
import type { RoundUpdate } from '../../update/update.ts';
import { type CutSave, CutSaves, type CutSavesOptions } from './cut-saves.ts';
import type { GroupRounds } from './group-rounds.ts';
import { type LaneAnswer, LanePushes, type LanePushesOptions } from './lane-pushes.ts';
import { longPoll } from './long-poll.ts';
import { PlacedRounds, type PlacedRoundsOptions } from './placed-rounds.ts';
import { draining, pending, staleTimeline, versionGone } from './refusals.ts';
import { RoundGroups, type RoundGroupsOptions, type RoundUnits } from './round-groups.ts';

export interface RoundsOptions extends RoundGroupsOptions, Omit<LanePushesOptions, 'moves' | 'placed'> {
  readonly isHeld: () => boolean;
  readonly times: WorkTimes;
  readonly moves: Pick<Moves, 'wait' | 'applied'>;
  /** Undefined if each unit has only one copy. */
  readonly replicas?: PlacedRoundsOptions['replicas'] | undefined;
  /** Called on an unexpected error, which is a bug. */
  readonly onBug: (error: unknown) => void;
  /** Calls `source` when the turn of this save comes, then writes and publishes the file. */
  readonly save: CutSavesOptions['save'];
  readonly deltas?: CutSavesOptions['deltas'];
}

/** The pserver declines a cut that it does not reach in this time. The master announces the cut again. */
const CUT_WAIT_MS = 60_000;

export class Rounds {
  readonly gates: RoundGates<GroupRounds>;
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
   * To be awaited before a lane is taken, until it returns undefined: a unit is being handed over, or has too few
   * copies for an update.
   */
  untilUpdatable(): Promise<void> | undefined {
    return this.#wait('update');
  }

  /**
   * Answers with exactly the version asked for. Throws `VersionPending`, `VersionGone`, `StaleTimeline`, `Draining`.
   */
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

  /** Throws the errors of `LanePushes.push`. */
  pushLane(request: Request<'pushLane'>): LaneAnswer {
    return this.#lanes.push(request);
  }

  /** Answers with the round of this pserver, once all its units are above round `above` or `maxWaitMs` has passed. */
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

  /**
   * Saves the shards when all of them are at the round of the cut, and answers when the file is published. Declines a
   * cut that some unit has passed, and a cut that is not reached in time.
   */
  async cut({ header }: Request<'cut'>, session: Session): Promise<Reply> {
    const { gates } = this;
    const { round, timeline, mode = 'due' } = header;
    const isPast = (): boolean => gates.highest() > round;
    const hasRound = (): boolean => gates.version() === round && !isPast();
    const known = this.#cuts.of(round, mode);
    if (timeline !== gates.timeline || (known === undefined && isPast())) return declined(gates);
    if (this.#options.isFrozen()) throw draining();
    if (known === undefined && !hasRound()) {
      this.#cuts.plan(round, mode);
      const isOver = (): CutSave | true | undefined => {
        this.#checkUnits(header);
        return this.#cuts.of(round, mode) ?? (isPast() || undefined);
      };
      await this.#until(isOver, CUT_WAIT_MS, session);
    }
    const save = this.#cuts.of(round, mode) ?? (hasRound() ? this.#cuts.begin(round, this.metrics(), mode) : undefined);
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

  /** Applies the round to these units, whose copies all have it. */
  commit(units: readonly number[], round: RoundUpdate): void {
    try {
      this.#groups.commit(units, round, (gradients) => this.#cuts.beforeRound(gradients));
    } catch (error) {
      if (isPaddletError(error)) this.#options.onFatal(error);
      throw error;
    }
    this.#moved();
  }

  /** Answers waiting requests with `Draining`, so that their senders look for the next state or owner of the shards. */
  close(): void {
    this.#closed.abort();
  }

  /** Waits until no unit is being handed over, because its next primary may already have answered differently. */
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

  /** To be called after units have changed their version, have come or have gone. */
  #moved(): void {
    const { gates } = this;
    gates.merge();
    const version = gates.version();
    if (gates.groups().length > 0 && gates.highest() === version) this.#cuts.reached(version, this.metrics());
    this.#changed.notify();
  }

  /**
   * Throws `StalePlacement` if a unit came or went while the request waited: the answer would cover other units than
   * the sender means.
   */
  #checkUnits({ placement }: { readonly placement?: PlacementStamp | undefined }): void {
    if (placement !== undefined) checkStamp(this.#options.shards, placement);
  }

  /** Where to read the values of a version; undefined while a unit has yet to reach it. */
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

const declined = (gates: RoundGates<GroupRounds>): Reply => ({
  header: { type: 'cut', outcome: 'declined', version: gates.highest() },
});
