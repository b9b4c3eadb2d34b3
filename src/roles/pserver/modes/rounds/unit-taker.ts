/**
 * Sync mode: takes units that have no live primary, at the start of the process and while it runs.
 * - If the exact last state of a unit is found, the unit joins at its round.
 * - Otherwise this pserver raises the timeline. All pservers go back to the last cut, and the unit joins from it.
 * - If the timeline has risen since the unit lost its primary, the unit joins from the cut of that timeline. Without
 *   the unit, no other unit can be more than one round past this cut.
 *
 * So the timeline rises once for all units without a primary at a time, not once for each pserver that takes some.
 */
import { backoffMs, pause } from '../../../../base/backoff.ts';
import { isPaddletError } from '../../../../base/errors.ts';
import { failPoint } from '../../../../base/fail-points.ts';
import { parseCut, rolledBack } from '../../../../checkpoint/registry/cut.ts';
import { retryStore } from '../../../../cluster/ownership.ts';
import { type CutView, raiseTimeline } from '../../../../cluster/placement/cut-view.ts';
import { abortOnChange, throwIfAborted } from '../../../../cluster/waiting.ts';
import type { TxnResult } from '../../../../store/store.ts';
import type { ShardServiceOptions } from '../../shard-service.ts';
import {
  formerUnits,
  type OrphanHead,
  stateKey,
  type TakerCopies,
  takeUnits,
  unchanged,
} from '../../take/take-units.ts';
import { type LoadedUnits, type LoadRoundsOptions, loadInitial } from './load.ts';
import { loadCut } from './load-cut.ts';
import { loadLast } from './load-last.ts';
import { timelineOf } from './seen-cut.ts';
import type { TimelineState } from './timeline.ts';

export interface RoundTakerOptions extends ShardServiceOptions {
  readonly cuts: CutView;
  readonly loading: Omit<LoadRoundsOptions, 'into' | 'waitSignal'>;
}

/** The state that the taken units join. */
export type Joined = Pick<TimelineState, 'timeline' | 'shards' | 'add'>;

/** When a unit was first known to have no primary. */
interface Known {
  /** Revision of the unit's head. */
  readonly modRevision: bigint;
  /** Timeline in the store when the unit already had no primary. */
  readonly timeline: number;
}

export class RoundTaker {
  readonly #options: RoundTakerOptions;
  readonly #known = new Map<number, Known>();
  readonly #files: string[] = [];
  /** Units that are being taken. */
  readonly #taking = new Set<number>();
  /** Resolves when no unit is being taken. */
  #running: Promise<unknown> = Promise.resolve();
  /** Aborted from `hold` until `release`, while the taker takes no units. */
  #held = new AbortController();
  #failures = 0;
  #copies: TakerCopies | undefined;

  constructor(options: RoundTakerOptions) {
    this.#options = options;
  }

  /** Names of the files that were loaded from this pserver's own folder. */
  get files(): readonly string[] {
    return this.#files;
  }

  /** Sets the backup copies on this pserver, which taking a unit frees; undefined if each unit has only one copy. */
  follow(copies: TakerCopies | undefined): void {
    this.#copies = copies;
  }

  isTaking(unit: number): boolean {
    return this.#taking.has(unit);
  }

  /** Units to take now. The view may lag behind the store and still show units that this pserver has taken. */
  due({ shards }: Joined): OrphanHead[] {
    if (this.#held.signal.aborted) return [];
    return this.#options.orphans.due().filter(({ unit }) => shards.heads.of(unit) === undefined);
  }

  /**
   * Takes nothing until `release`, and gives up waiting, because this process leaves or stops. Resolves when no attempt
   * is running. This pserver leads the units that it has taken by then.
   */
  async hold(): Promise<void> {
    this.#held.abort();
    await this.#running;
  }

  release(): void {
    this.#held = new AbortController();
  }

  /**
   * Takes the units if the timeline of `state` allows it and the taker is not held. Units that are not taken become due
   * again.
   */
  take(state: Joined, due: readonly OrphanHead[], signal: AbortSignal): Promise<void> {
    const taking = this.#takeUnlessHeld(state, due, signal);
    this.#running = Promise.allSettled([taking]);
    return taking;
  }

  async #takeUnlessHeld(state: Joined, due: readonly OrphanHead[], signal: AbortSignal): Promise<void> {
    const held = AbortSignal.any([this.#held.signal, this.#options.stopSignal]);
    try {
      await this.#takeMarked(state, due, AbortSignal.any([signal, held]));
    } catch (error) {
      if (signal.aborted || !held.aborted || !isPaddletError(error, 'Interrupted')) throw error;
    }
  }

  async #takeMarked(state: Joined, due: readonly OrphanHead[], signal: AbortSignal): Promise<void> {
    // Mark the units before the first wait: another pserver may take one of them and move it here.
    for (const { unit } of due) this.#taking.add(unit);
    const areTaken = await this.#takeAll(state, due, signal).finally(() => this.#taking.clear());
    if (areTaken) this.#failures = 0;
    // If the timeline has risen, follow it without a pause.
    else if (!this.#isBehind(state)) await this.#backOff(signal);
  }

  async #takeAll(state: Joined, due: readonly OrphanHead[], signal: AbortSignal): Promise<boolean> {
    for (const alike of groupsOf(due, ({ head }) => [head?.primary])) await this.#learn(alike, signal);
    for (const alike of groupsOf(due, (one) => [one.head && stateKey(one.head), this.#since(one)])) {
      if (!(await this.#takeWhileOrphans(state, alike, signal))) return false;
    }
    return true;
  }

  #backOff(signal: AbortSignal): Promise<void> {
    return pause(this.#options.context.host.clock, backoffMs(this.#failures++), signal);
  }

  /** Reads the timeline at a store revision at which the last owner of the units has certainly lost its index. */
  async #learn(alike: readonly OrphanHead[], signal: AbortSignal): Promise<void> {
    const fresh = alike.filter((one) => this.#since(one) === undefined);
    if (fresh.length === 0) return;
    const { store, keys } = this.#options.context;
    const owner = fresh[0]!.head?.primary;
    const gets = [{ get: keys.cut }, ...(owner === undefined ? [] : [{ get: keys.ps(owner.index) }])];
    const read = (): Promise<TxnResult> => store.txn({ if: [], then: gets });
    const { results } = await retryStore(this.#options.context, read, signal);
    // The view lags behind the store: the units have an owner.
    if (owner !== undefined && results[1]?.createRevision.toString() === owner.token) return;
    const { timeline } = parseCut(keys.cut, results[0]).cut;
    // Another pserver may lead a unit whose head has changed, and going back to a cut for it costs the whole job work.
    const left = await unchanged(this.#options.context, fresh, signal);
    for (const { unit, modRevision } of left) this.#known.set(unit, { modRevision, timeline });
  }

  /** The timeline at which the unit already had no primary; undefined if it may have one. */
  #since({ unit, modRevision }: OrphanHead): number | undefined {
    const known = this.#known.get(unit);
    return known?.modRevision === modRevision ? known.timeline : undefined;
  }

  #isBehind({ timeline }: Joined): boolean {
    return timelineOf(this.#options.cuts) > timeline;
  }

  /**
   * Gives up when another pserver has taken any of the units, because this pserver may be unable to reach their files.
   * Also gives up when the timeline rises.
   */
  async #takeWhileOrphans(state: Joined, alike: readonly OrphanHead[], signal: AbortSignal): Promise<boolean> {
    const { orphans, cuts } = this.#options;
    const gone = abortOnChange(orphans.view, () => !alike.every((one) => orphans.isOrphan(one)), signal);
    const risen = abortOnChange(cuts.changed, () => this.#isBehind(state), signal);
    try {
      return await this.#take(state, alike, AbortSignal.any([signal, gone.signal, risen.signal]));
    } catch (error) {
      const isGivenUp = gone.signal.aborted || risen.signal.aborted;
      if (signal.aborted || !isGivenUp || !isPaddletError(error, 'Interrupted')) throw error;
      return false;
    } finally {
      gone.release();
      risen.release();
    }
  }

  /** Returns false if some of the units were not taken. */
  async #take(state: Joined, alike: readonly OrphanHead[], waitSignal: AbortSignal): Promise<boolean> {
    const { shards } = state;
    for (const { unit } of alike) this.#copies?.free(unit);
    try {
      const loaded = await this.#load(state, alike, waitSignal);
      if (loaded === undefined) return false;
      failPoint('pserver.rounds-loaded');
      throwIfAborted(waitSignal);
      return await this.#own(state, alike, loaded);
    } finally {
      const left = alike.filter(({ unit }) => shards.heads.of(unit) === undefined);
      for (const { unit } of left) {
        for (const shard of shards.shardsOf(unit))
          if (shards.parameters.hasShard(shard)) shards.parameters.dropShard(shard);
      }
    }
  }

  /** `alike`: units with the same last owner and last state, and without a primary since the same timeline. */
  async #load(state: Joined, alike: readonly OrphanHead[], waitSignal: AbortSignal): Promise<LoadedUnits | undefined> {
    const { context, fence, cuts, loading } = this.#options;
    const since = this.#since(alike[0]!);
    if (since === undefined || this.#isBehind(state)) return undefined;
    const { cut } = cuts.current()!;
    const options = { ...loading, fence, into: state.shards.parameters, waitSignal };
    const shards = alike.flatMap(({ unit }) => state.shards.shardsOf(unit));
    if (since < cut.timeline) return loadCut(options, cut, shards);
    if (since === cut.timeline) {
      const [former] = formerUnits(alike);
      // While a unit has never had a primary, no trainer can pull version 0, so no unit is past round 0.
      if (former === undefined && cut.round === 0) return loadInitial(options, shards);
      const exact = former && (await loadLast(options, former, cut));
      if (exact !== undefined) return exact;
      const { log } = context.host;
      log.warn(`the last state of ${alike.length} units is lost: all pservers go back to round ${cut.round}`);
      await raiseTimeline(context, fence, (now) => (now.timeline > since ? undefined : rolledBack(now)));
    }
    await cuts.changed.until(() => this.#isBehind(state) || undefined, waitSignal);
    return undefined;
  }

  async #own(state: Joined, alike: readonly OrphanHead[], loaded: LoadedUnits): Promise<boolean> {
    const { context, record, fence, index, lease } = this.#options;
    const taken = await takeUnits(
      {
        ...{ context, fence, me: { index, token: fence.token.toString() } },
        ...{ rests: loaded.rests, partings: loaded.partedAt, signal: lease.lost },
        grouping: { shards: record.job.cluster.shards, units: record.units },
      },
      alike,
    );
    state.add(taken, loaded);
    for (const one of taken) this.#copies?.taken(one);
    this.#files.push(...loaded.files);
    const { numbers } = state.shards;
    context.host.log.info(`serving ${numbers.length} shards as index ${index}`, { from: loaded.source });
    return taken.length === alike.length;
  }
}

const groupsOf = (due: readonly OrphanHead[], alike: (one: OrphanHead) => unknown): OrphanHead[][] => [
  ...Map.groupBy(due, (one) => JSON.stringify(alike(one))).values(),
];
