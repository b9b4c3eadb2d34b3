/**
 * Sync mode: takes units that have no live primary, at the start of the process and while it runs. A unit that is found
 * in its exact last state joins where it is. For any other one all pservers go back to the last cut, under a new
 * timeline, and then it joins as the cut has it.
 *
 * It also joins from a cut that all went back to for another reason, when it had no primary since before: without the
 * unit no other one has gone beyond the first round after the cut, which is next to it. So the timeline is raised once
 * for all units that are without a primary at a time, not once for each pserver that takes some.
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

/** What units join. */
export type Joined = Pick<TimelineState, 'timeline' | 'shards' | 'add'>;

/** Since when a unit is known to have no primary. */
interface Known {
  /** Of its head. */
  readonly modRevision: bigint;
  /** In the store, when the unit had no primary any more. */
  readonly timeline: number;
}

export class RoundTaker {
  readonly #options: RoundTakerOptions;
  readonly #known = new Map<number, Known>();
  readonly #files: string[] = [];
  /** Units that are being taken. */
  readonly #taking = new Set<number>();
  /** Resolves when none is being taken. */
  #running: Promise<unknown> = Promise.resolve();
  /** Aborts while nothing is taken for now. */
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

  /** From now on, where units have them. */
  follow(copies: TakerCopies | undefined): void {
    this.#copies = copies;
  }

  isTaking(unit: number): boolean {
    return this.#taking.has(unit);
  }

  /** Those that are to be taken now. The view may be behind, and not know yet what this pserver has taken. */
  due({ shards }: Joined): OrphanHead[] {
    if (this.#held.signal.aborted) return [];
    return this.#options.orphans.due().filter(({ unit }) => shards.heads.of(unit) === undefined);
  }

  /**
   * Takes nothing until `release`, and gives up what it waits for: this process leaves or stops. Resolves when nothing
   * is being taken. What it has taken by then it leads.
   */
  async hold(): Promise<void> {
    this.#held.abort();
    await this.#running;
  }

  release(): void {
    this.#held = new AbortController();
  }

  /** Takes them if that can be done under the timeline of the state, unless held. Otherwise they are due again. */
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
    // From before the first wait: another pserver may take one of them and move it here.
    for (const { unit } of due) this.#taking.add(unit);
    const areTaken = await this.#takeAll(state, due, signal).finally(() => this.#taking.clear());
    if (areTaken) this.#failures = 0;
    // A higher timeline is followed at once.
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

  /** Reads the timeline at a revision at which the units' last owner is certainly gone. */
  async #learn(alike: readonly OrphanHead[], signal: AbortSignal): Promise<void> {
    const fresh = alike.filter((one) => this.#since(one) === undefined);
    if (fresh.length === 0) return;
    const { store, keys } = this.#options.context;
    const owner = fresh[0]!.head?.primary;
    const gets = [{ get: keys.cut }, ...(owner === undefined ? [] : [{ get: keys.ps(owner.index) }])];
    const read = (): Promise<TxnResult> => store.txn({ if: [], then: gets });
    const { results } = await retryStore(this.#options.context, read, signal);
    // The view is behind: the units have an owner.
    if (owner !== undefined && results[1]?.createRevision.toString() === owner.token) return;
    const { timeline } = parseCut(keys.cut, results[0]).cut;
    // One that has another head by now may be led by another pserver: to go back to a cut for it costs the whole job.
    const left = await unchanged(this.#options.context, fresh, signal);
    for (const { unit, modRevision } of left) this.#known.set(unit, { modRevision, timeline });
  }

  /** The timeline at which it had no primary already; undefined when it may have one. */
  #since({ unit, modRevision }: OrphanHead): number | undefined {
    const known = this.#known.get(unit);
    return known?.modRevision === modRevision ? known.timeline : undefined;
  }

  #isBehind({ timeline }: Joined): boolean {
    return timelineOf(this.#options.cuts) > timeline;
  }

  /** Their files may be out of reach for this pserver: they are given up when another pserver has taken any of them. */
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

  /** False when some of them were not taken. */
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

  /** Alike: of one owner, which left the same last state, and without a primary since one timeline. */
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
      // Without a unit that never had a primary none can have gone beyond round 0.
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
