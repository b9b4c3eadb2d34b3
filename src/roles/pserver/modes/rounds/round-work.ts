/**
 * Sync mode: the work that a pserver does one job at a time, because all units that it takes must belong to one
 * timeline. It takes units without a primary, loads units that arrived outdated, and goes back to a cut when the
 * timeline rises.
 */
import { isPaddletError } from '../../../../base/errors.ts';
import { failPoint } from '../../../../base/fail-points.ts';
import type { Cut } from '../../../../checkpoint/registry/cut.ts';
import { lossOf } from '../../../../cluster/ownership.ts';
import { createSignal, throwIfAborted } from '../../../../cluster/waiting.ts';
import { createParameters } from '../../../../tensor/wasm-parameters.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import { createReplicas } from '../../replicas/create-replicas.ts';
import type { PserverReplicas } from '../../replicas/pserver-replicas.ts';
import type { PserverMoves } from '../../transfer/moves.ts';
import { type LoadRoundsOptions, NO_UNITS } from './load.ts';
import { loadCut } from './load-cut.ts';
import { OutdatedUnits } from './outdated-units.ts';
import { type MovingRounds, roundsOfMoves, startRoundMoves } from './round-moves.ts';
import { cutAbove, untilAbove } from './seen-cut.ts';
import { type TimelineOptions, TimelineState } from './timeline.ts';
import { RoundTaker } from './unit-taker.ts';

export interface RoundWorkOptions extends Omit<TimelineOptions, 'moves' | 'replicas'> {
  readonly loading: Omit<LoadRoundsOptions, 'into' | 'waitSignal'>;
}

export class RoundWork {
  readonly moves: PserverMoves;
  /** Undefined if each unit has only one copy. */
  readonly replicas: PserverReplicas | undefined;
  readonly #options: RoundWorkOptions;
  readonly #taker: RoundTaker;
  readonly #outdated: OutdatedUnits;
  readonly #changed = createSignal();
  readonly #again = createSignal();
  readonly #stopped = new AbortController();
  /**
   * Aborted by `freeze`: this process stops taking units and stops waiting for files of a cut. Shards that wait for a
   * cut have nothing to save.
   */
  readonly #frozen = new AbortController();
  #state: TimelineState;
  #isGoingBack = false;
  #isStarted = false;
  /** Number of reasons to look for work besides changes of the orphans and of the cut. */
  #looks = 0;
  /** The current work: taking units, loading outdated units or going back to a cut. */
  #busy: Promise<void> | undefined;
  #waitingFor: string | undefined;
  /** The error that ended the work. If the shards are going back to a cut, they cannot be served again. */
  #broken: { readonly error: unknown } | undefined;

  constructor(options: RoundWorkOptions, timeline: number, owned: OwnedShards) {
    this.#options = options;
    this.#taker = new RoundTaker(options);
    this.#outdated = new OutdatedUnits(options);
    const rounds: MovingRounds = {
      state: () => this.#state,
      isGoingBack: () => this.#isGoingBack,
      isFrozen: () => !this.#isStarted || this.#isGoingBack || this.#frozen.signal.aborted,
      isTaking: (unit) => this.#taker.isTaking(unit) || this.#outdated.has(unit),
      onGivenUp: () => this.#recheck(),
      onOutdated: (led) => {
        this.#outdated.put(led);
        this.#recheck();
      },
      hasOutdated: () => !this.#outdated.isEmpty,
      isOutdated: (unit) => this.#outdated.has(unit),
    };
    if (options.record.job.cluster.replicas > 1) this.replicas = this.#createReplicas(rounds, owned);
    this.moves = startRoundMoves(options, owned, rounds, this.replicas);
    this.#state = new TimelineState(this.#parts, timeline, NO_UNITS, owned);
  }

  get #parts(): TimelineOptions {
    return { ...this.#options, moves: this.moves, replicas: this.replicas };
  }

  #createReplicas(rounds: MovingRounds, owned: OwnedShards): PserverReplicas {
    return createReplicas({
      ...{ ...this.#options, owned, rounds: roundsOfMoves(rounds), onRecovery: () => {} },
      withoutSaves: () => this.#state.withoutSaves(),
      onLed: () => this.moves.recheck(),
      onChanged: () => {
        this.moves.recheck();
        this.#recheck();
      },
      onCopyEnded: (copy, outcome) => this.moves.copyEnded(copy, outcome),
    });
  }

  /** The state under the current timeline; while the shards go back to a cut, the state under the timeline before. */
  get state(): TimelineState {
    return this.#state;
  }

  /** Undefined while the shards go back to a cut. */
  get current(): TimelineState | undefined {
    return this.#isGoingBack ? undefined : this.#state;
  }

  /** Reason why the shards are still going back to a cut, for status. */
  get waitingFor(): string {
    return this.#waitingFor ?? 'the cut to be loaded';
  }

  /** Names of the files that were loaded from this pserver's own folder. */
  get files(): readonly string[] {
    return this.#taker.files;
  }

  /** At the start: works until nothing is due. */
  async takeDue(): Promise<void> {
    const { stopSignal } = this.#options;
    for (let work = this.#next(); work !== undefined; work = this.#next()) await work(stopSignal);
    throwIfAborted(stopSignal);
  }

  /** Takes units as they become due, and follows the timeline. */
  start(): void {
    this.#isStarted = true;
    this.replicas?.start();
    this.#taker.follow(this.replicas);
    this.moves.recheck();
    this.#run().catch((error: unknown) => {
      const isInterrupted = isPaddletError(error, 'Interrupted');
      if (this.#stopped.signal.aborted && isInterrupted) return;
      this.#broken = { error };
      this.#changed.notify();
      const isEnding = this.#frozen.signal.aborted || this.#options.lease.lost.aborted;
      if (!isEnding || !isInterrupted) this.#options.onFatal(error);
    });
  }

  /**
   * A leaving pserver takes no units. It finishes or gives up its current attempts before it reports that it has left.
   */
  async leave(signal: AbortSignal): Promise<boolean> {
    const holding = this.#taker.hold();
    let hasLeft = false;
    try {
      await holding;
      hasLeft = await this.moves.leave(signal);
    } finally {
      if (!hasLeft) {
        this.#taker.release();
        this.#recheck();
      }
    }
    return hasLeft;
  }

  freeze(): void {
    this.#frozen.abort();
    void this.#taker.hold();
    this.current?.freeze();
  }

  /**
   * Resolves with the state, once nothing is being taken and the shards are at a cut. Throws the reason of `lease.lost`
   * if the index is lost first, or the error because of which the shards cannot be served again.
   */
  async settled(): Promise<TimelineState> {
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

  /** Starts no more work. Resolves when the current work has ended, but does not wait for going back to a cut. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.allSettled([this.#isGoingBack ? undefined : this.#busy]);
  }

  async #run(): Promise<never> {
    const { signal } = this.#stopped;
    for (;;) {
      const work = this.#next();
      await (work === undefined ? this.#untilWork(signal) : this.#doing(work(signal)));
      throwIfAborted(signal);
    }
  }

  /** The next work; undefined if there is nothing to do. */
  #next(): ((signal: AbortSignal) => Promise<void>) | undefined {
    const cut = cutAbove(this.#options.cuts, this.#state.timeline);
    if (cut !== undefined) return (signal) => this.#goBack(cut, signal);
    if (this.#frozen.signal.aborted) return undefined;
    // Load them even if this process is stopping: it leads them, and can hand them over only once they are loaded.
    if (!this.#outdated.isEmpty) return (signal) => this.#loadOutdated(signal);
    if (this.#options.stopSignal.aborted) return undefined;
    const due = this.#taker.due(this.#state).filter(({ unit }) => !this.moves.isComing(unit));
    return due.length === 0 ? undefined : (signal) => this.#taker.take(this.#state, due, signal);
  }

  async #untilWork(signal: AbortSignal): Promise<void> {
    const { cuts, orphans } = this.#options;
    const again = new AbortController();
    const either = AbortSignal.any([signal, again.signal]);
    const seen = this.#looks;
    const looked = this.#again.until(() => this.#looks !== seen || undefined, either);
    const risen = untilAbove(cuts, this.#state.timeline, either);
    await Promise.race([orphans.changed(either), looked, risen]).finally(() => again.abort());
  }

  #recheck(): void {
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

  /** Gives up when this process stops, because it then saves the state that it has. */
  async #loadOutdated(signal: AbortSignal): Promise<void> {
    try {
      await this.#outdated.load(this.#state, AbortSignal.any([signal, this.#frozen.signal]), this.replicas);
      this.moves.recheck();
    } catch (error) {
      const isGivenUp = this.#frozen.signal.aborted || this.#options.stopSignal.aborted;
      if (signal.aborted || !isGivenUp || !isPaddletError(error, 'Interrupted')) throw error;
    }
  }

  async #goBack(cut: Cut, signal: AbortSignal): Promise<void> {
    const { context, cuts, loading } = this.#options;
    const { log } = context.host;
    const old = this.#state;
    log.warn(`timeline ${cut.timeline}: going back to round ${cut.round}`, { from: old.rounds.gates.version() });
    old.freeze();
    this.#isGoingBack = true;
    this.moves.keepAll('all pservers go back to a cut');
    // The in-sync set of a unit that is led under the new timeline must not contain copies of the old one.
    await this.replicas?.alone();
    await old.saved();
    const onWaiting = (what: string | undefined): void => {
      this.#waitingFor = what;
    };
    const waitSignal = AbortSignal.any([this.#frozen.signal, signal]);
    const options = { ...this.#parts, loading: { ...loading, waitSignal, onWaiting } };
    const state = await backToCut(options, old, cut);
    if (state === undefined) return untilAbove(cuts, cut.timeline, waitSignal);
    if (this.#frozen.signal.aborted) state.freeze();
    this.#state = state;
    this.#isGoingBack = false;
    this.moves.recheck();
    log.info(`serving again from round ${state.rounds.gates.version()}`, { timeline: state.timeline });
  }
}

/** Options of `backToCut`: `loading` waits for the files of the cut. */
interface BackToCut extends TimelineOptions {
  readonly loading: Omit<LoadRoundsOptions, 'into'>;
}

/**
 * Loads the shards from the cut, under its timeline; process, index and units stay. `old` is frozen and saves nothing
 * more. Undefined if all pservers must go back to another cut, under a higher timeline.
 */
async function backToCut(options: BackToCut, old: TimelineState, cut: Cut): Promise<TimelineState | undefined> {
  const { fence, spec, record, loading } = options;
  const { shards, replicas } = record.job.cluster;
  const { seed } = record.job.training;
  const into = createParameters({ spec, seed, shards, recallsPulls: replicas === 1 });
  const loaded = await loadCut({ ...loading, fence, into }, cut, old.shards.numbers);
  if (loaded === undefined) return undefined;
  failPoint('pserver.cut-loaded');
  // Shards may have left while the cut was being loaded.
  const owned = new Set(old.shards.numbers);
  for (const shard of into.shards()) if (!owned.has(shard)) into.dropShard(shard);
  old.shards.restate({ parameters: into, ...loaded });
  return new TimelineState(options, cut.timeline, loaded, old.shards);
}
