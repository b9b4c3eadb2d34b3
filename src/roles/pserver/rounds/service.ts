/**
 * Sync mode: takes units of shards, serves them and saves them. When the timeline rises, process, index and units stay,
 * and the shards go back to the cut: their state is loaded again.
 */
import { isPaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Cut } from '../../../checkpoint/registry/cut.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { ShardsInfo } from '../../../cluster/info.ts';
import { roundPlanOf } from '../../../cluster/job/job-plan.ts';
import { lossOf } from '../../../cluster/ownership.ts';
import type { CutView } from '../../../cluster/placement/cut-view.ts';
import type { UnitBytes } from '../../../cluster/placement/pserver-record.ts';
import { createSignal, throwIfAborted } from '../../../cluster/waiting.ts';
import { createParameters } from '../../../tensor/wasm-parameters.ts';
import { sweepOrphans } from '../files/sweep.ts';
import { type OwnedHead, OwnedHeads } from '../owned-heads.ts';
import type { Serving } from '../serving.ts';
import type { ShardService } from '../shard-service.ts';
import { OwnedShards } from '../shards.ts';
import { connectMove } from '../units/move-connection.ts';
import { type Moves, PserverMoves } from '../units/moves.ts';
import { type LoadRoundsOptions, NO_UNITS } from './load.ts';
import { loadCut } from './load-cut.ts';
import { type TimelineOptions, TimelineState } from './timeline.ts';
import { RoundTaker } from './unit-taker.ts';

export type RoundServiceOptions = Omit<TimelineOptions, 'batches' | 'moves'>;

/**
 * Begins to serve when the units that are due have been taken, even if there are none; others may come later. Until it
 * leads one it refuses requests, since they would be about nothing.
 */
export async function startRoundService(options: RoundServiceOptions): Promise<ShardService> {
  const { context, record, spec, index, fence, folder, cuts, stopSignal, lease } = options;
  const { shards } = record.job.cluster;
  const { seed } = record.job.training;
  const { units } = record;
  const loading = {
    ...{ context, index, folder, units, onWaiting: options.onWaiting },
    expected: { jobId: record.id, parameters: spec, seed, shards },
    warmStart: record.warmStart,
  };
  const { cut } = await cuts.changed.until(() => cuts.current(), stopSignal);
  const heads = new OwnedHeads({ context, fence, signal: lease.lost }, []);
  const job = { spec, shards, units, tasks: record.train.tasks };
  const owned = new OwnedShards(job, heads, { parameters: createParameters({ spec, seed, shards }), ...NO_UNITS });
  const service = new RoundService({ ...options, batches: roundPlanOf(record), loading }, cut.timeline, owned);
  try {
    await service.takeDue();
    await sweepOrphans(options, service.files);
  } catch (error) {
    await service.stopSaving();
    throw error;
  }
  service.start();
  return service;
}

interface WholeOptions extends Omit<TimelineOptions, 'moves'> {
  readonly loading: Omit<LoadRoundsOptions, 'into' | 'waitSignal'>;
}

class RoundService implements ShardService {
  readonly #options: WholeOptions;
  readonly #taker: RoundTaker;
  readonly #moves: Moves;
  readonly #changed = createSignal();
  readonly #again = createSignal();
  readonly #stopped = new AbortController();
  /** No units are taken any more, and no files of the cut are waited for: there is no memory to be saved. */
  readonly #frozen = new AbortController();
  /** The current timeline, or the last one while the shards go back to a cut. */
  #state: TimelineState;
  #isGoingBack = false;
  #isStarted = false;
  /** Units that came when all had gone back to a cut: they are loaded from it. */
  readonly #outdated = new Map<number, OwnedHead>();
  /** Reasons to look for work beside those of the orphans and of the cut. */
  #looks = 0;
  /** Units are being taken, or the shards go back to a cut. */
  #busy: Promise<void> | undefined;
  #waitingFor: string | undefined;
  #last: Promise<unknown> | undefined;
  /** Why the shards that go back to a cut cannot be served again. */
  #broken: { readonly error: unknown } | undefined;

  constructor(options: WholeOptions, timeline: number, owned: OwnedShards) {
    this.#options = options;
    this.#taker = new RoundTaker(options);
    this.#moves = this.#startMoves(owned);
    this.#state = new TimelineState({ ...options, moves: this.#moves }, timeline, NO_UNITS, owned);
  }

  #startMoves(owned: OwnedShards): Moves {
    const { context, record, index, fence, onFatal } = this.#options;
    const { cluster } = record.job;
    const job = jobFields(record);
    return new PserverMoves({
      ...{ ...this.#options, owned, leaseTtlMs: cluster.leaseTtlMs },
      me: { index, token: fence.token.toString() },
      job: { units: record.units, shards: cluster.shards, tasks: record.train.tasks },
      connect: ({ target: { token, ...target }, ...link }) =>
        connectMove({ context, job, target: { ...target, token: token.toString() }, ...link, onFatal }),
      withoutSaves: () => this.#state.withoutSaves(),
      isFrozen: () => !this.#isStarted || this.#isGoingBack || this.#frozen.signal.aborted,
      isTaking: (unit) => this.#taker.isTaking(unit) || this.#outdated.has(unit),
      onGained: () => {},
      onGivenUp: () => this.#lookAgain(),
      onRecovery: () => {},
      rounds: {
        timeline: () => (this.#isGoingBack ? undefined : this.#state.timeline),
        stateOf: (unit, shards) => this.#state.rounds.stateOf(unit, shards),
        add: (unit, rounds) => this.#state.rounds.add(unit, rounds),
        remove: (unit) => this.#state.rounds.remove(unit),
        outdated: (led) => {
          this.#outdated.set(led.unit, led);
          this.#lookAgain();
        },
      },
    });
  }

  /** A pserver that leaves takes nothing: what it is taking it takes, or gives up, before it says that it has left. */
  async leave(signal: AbortSignal): Promise<boolean> {
    const holding = this.#taker.hold();
    let hasLeft = false;
    try {
      await holding;
      hasLeft = await this.#moves.leave(signal);
    } finally {
      if (!hasLeft) {
        this.#taker.release();
        this.#lookAgain();
      }
    }
    return hasLeft;
  }

  /** Names of the files that were loaded from this pserver's own folder. */
  get files(): readonly string[] {
    return this.#taker.files;
  }

  /** At the start: again until nothing is due. */
  async takeDue(): Promise<void> {
    const { stopSignal } = this.#options;
    for (let work = this.#work(); work !== undefined; work = this.#work()) await work(stopSignal);
    throwIfAborted(stopSignal);
  }

  /** From now on takes what becomes due, and follows the timeline. */
  start(): void {
    this.#isStarted = true;
    this.#moves.lookAgain();
    this.#run().catch((error: unknown) => {
      const isInterrupted = isPaddletError(error, 'Interrupted');
      if (this.#stopped.signal.aborted && isInterrupted) return;
      this.#broken = { error };
      this.#changed.notify();
      if (!this.#frozen.signal.aborted || !isInterrupted) this.#options.onFatal(error);
    });
  }

  get serving(): Serving | undefined {
    return this.#current?.serving;
  }

  freeze(): void {
    this.#frozen.abort();
    void this.#taker.hold();
    this.#current?.freeze();
  }

  saveLast(): Promise<unknown> {
    this.#last ??= this.#moves
      .stop()
      .then(() => this.#settled())
      .then(async (state) => {
        state.snapshots.endRateLimit();
        await state.saveLast();
      })
      .catch((error: unknown) => {
        this.#last = undefined;
        throw error;
      });
    return this.#last;
  }

  async saveParting(): Promise<void> {
    await (await this.#settled()).saveParting();
  }

  async stopSaving(): Promise<void> {
    this.#moves.close();
    this.#stopped.abort();
    this.#state.endHolds();
    this.#current?.snapshots.abandon();
    await Promise.allSettled([this.#last, this.#isGoingBack ? undefined : this.#busy]);
    await this.#current?.saved();
  }

  stats(): ReturnType<OwnedShards['stats']> {
    const { shards } = this.#state;
    const stats = shards.stats();
    return this.#isGoingBack ? { ...stats, rows: 0, bytes: 0, reservedBytes: 0 } : stats;
  }

  unitBytes(): UnitBytes[] {
    return this.#state.shards.unitBytes();
  }

  info(): ShardsInfo {
    const { index, lease } = this.#options;
    if (this.#isGoingBack) return { state: 'waiting', index, waitingFor: this.#waitingFor ?? 'the cut to be loaded' };
    const { shards } = this.#state;
    return {
      state: 'working',
      mode: 'sync',
      index,
      ...shards.stats(),
      placement: shards.stamp,
      held: lease.isHeld(),
      ...this.#state.info(),
    };
  }

  /** Undefined while the shards go back to a cut. */
  get #current(): TimelineState | undefined {
    return this.#isGoingBack ? undefined : this.#state;
  }

  async #run(): Promise<never> {
    const { signal } = this.#stopped;
    for (;;) {
      const work = this.#work();
      await (work === undefined ? this.#untilWork(signal) : this.#doing(work(signal)));
      throwIfAborted(signal);
    }
  }

  /** What is to be done next. One thing at a time: what is taken belongs to one timeline. */
  #work(): ((signal: AbortSignal) => Promise<void>) | undefined {
    const cut = cutAbove(this.#options.cuts, this.#state.timeline);
    if (cut !== undefined) return (signal) => this.#goBack(cut, signal);
    if (this.#frozen.signal.aborted || this.#options.stopSignal.aborted) return undefined;
    if (this.#outdated.size > 0) return (signal) => this.#untilFrozen(signal, (either) => this.#loadOutdated(either));
    const due = this.#taker.due(this.#state).filter(({ unit }) => !this.#moves.isComing(unit));
    return due.length === 0 ? undefined : (signal) => this.#taker.take(this.#state, due, signal);
  }

  async #untilWork(signal: AbortSignal): Promise<void> {
    const { cuts, orphans } = this.#options;
    const again = new AbortController();
    const either = AbortSignal.any([signal, again.signal]);
    const seen = this.#looks;
    const looked = this.#again.until(() => this.#looks !== seen || undefined, either);
    const risen = cuts.changed.until(() => cutAbove(cuts, this.#state.timeline), either);
    await Promise.race([orphans.changed(either), looked, risen]).finally(() => again.abort());
  }

  #lookAgain(): void {
    this.#looks += 1;
    this.#again.notify();
  }

  async #doing(work: Promise<void>): Promise<void> {
    this.#busy = work;
    try {
      await work;
    } finally {
      this.#busy = undefined;
      this.#changed.notify();
    }
  }

  /** Given up when this process is to stop: it saves what it has. */
  async #untilFrozen(signal: AbortSignal, work: (either: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await work(AbortSignal.any([signal, this.#frozen.signal]));
    } catch (error) {
      const isGivenUp = this.#frozen.signal.aborted || this.#options.stopSignal.aborted;
      if (signal.aborted || !isGivenUp || !isPaddletError(error, 'Interrupted')) throw error;
    }
  }

  /** No pserver has led them on this timeline: they join as the cut has them. */
  async #loadOutdated(waitSignal: AbortSignal): Promise<void> {
    const { cuts, fence, loading } = this.#options;
    const state = this.#state;
    const { cut } = cuts.current()!;
    const heads = [...this.#outdated.values()];
    const shards = heads.flatMap(({ unit }) => state.shards.shardsOf(unit));
    const loaded = await loadCut({ ...loading, fence, into: state.shards.parameters, waitSignal }, cut, shards);
    if (loaded === undefined) {
      await cuts.changed.until(() => cutAbove(cuts, cut.timeline), waitSignal);
      return;
    }
    state.add(heads, loaded);
    for (const { unit } of heads) this.#outdated.delete(unit);
    this.#moves.lookAgain();
  }

  async #goBack(cut: Cut, signal: AbortSignal): Promise<void> {
    const { context, fence, spec, record, loading } = this.#options;
    const { log } = context.host;
    const old = this.#state;
    log.warn(`timeline ${cut.timeline}: going back to round ${cut.round}`, { from: old.rounds.gates.version() });
    old.freeze();
    this.#isGoingBack = true;
    this.#moves.keepAll('all pservers go back to a cut');
    await old.saved();
    const { shards } = record.job.cluster;
    const into = createParameters({ spec, seed: record.job.training.seed, shards });
    const onWaiting = (what: string | undefined): void => {
      this.#waitingFor = what;
    };
    const waitSignal = AbortSignal.any([this.#frozen.signal, signal]);
    const options = { ...loading, fence, into, waitSignal, onWaiting };
    const loaded = await loadCut(options, cut, old.shards.numbers);
    if (loaded === undefined) {
      await this.#options.cuts.changed.until(() => cutAbove(this.#options.cuts, cut.timeline), waitSignal);
      return;
    }
    failPoint('pserver.cut-loaded');
    // What has left in the meantime.
    const owned = new Set(old.shards.numbers);
    for (const shard of into.shards()) if (!owned.has(shard)) into.dropShard(shard);
    old.shards.restate({ parameters: into, ...loaded });
    const state = new TimelineState({ ...this.#options, moves: this.#moves }, cut.timeline, loaded, old.shards);
    if (this.#frozen.signal.aborted) state.freeze();
    this.#state = state;
    this.#isGoingBack = false;
    this.#moves.lookAgain();
    log.info(`serving again from round ${state.rounds.gates.version()}`, { timeline: state.timeline });
  }

  /**
   * The state, once nothing is being taken and the shards are at a cut. Throws `LeaseGone` when the index is lost
   * before, or what `#broken` says.
   */
  async #settled(): Promise<TimelineState> {
    const { lease } = this.#options;
    const look = (): TimelineState | undefined => {
      if (!this.#isGoingBack) return this.#busy === undefined ? this.#state : undefined;
      if (this.#broken !== undefined) throw this.#broken.error;
      return undefined;
    };
    try {
      return look() ?? (await this.#changed.until(look, lease.lost));
    } catch (error) {
      throw lease.lost.aborted && isPaddletError(error, 'Interrupted') ? lossOf(lease) : error;
    }
  }
}

function cutAbove(cuts: CutView, timeline: number): Cut | undefined {
  const cut = cuts.current()?.cut;
  return cut !== undefined && cut.timeline > timeline ? cut : undefined;
}
