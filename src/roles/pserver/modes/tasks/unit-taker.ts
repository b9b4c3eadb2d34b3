/**
 * Async mode: takes units that have no live primary, at the start of the process and while it runs. If updates may be
 * missing in these units, the taker raises the recovery number before this pserver leads them.
 */
import { backoffMs, pause } from '../../../../base/backoff.ts';
import { isPaddletError } from '../../../../base/errors.ts';
import { failPoint } from '../../../../base/fail-points.ts';
import type { WarmLoaded } from '../../../../checkpoint/load/warm-load.ts';
import { raiseRecovery } from '../../../../cluster/placement/recovery.ts';
import { abortOnChange, createSignal, unlessStopped } from '../../../../cluster/waiting.ts';
import { adoptParting } from '../../files/adopt-parting.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import type { ShardServiceOptions } from '../../shard-service.ts';
import type { OrphanWatch } from '../../take/orphan-watch.ts';
import { type OrphanHead, stateKey, type TakerCopies, takeUnits, unchanged } from '../../take/take-units.ts';
import { type FilledShards, loadShards } from './load.ts';

export interface UnitTakerOptions extends ShardServiceOptions {
  readonly shards: OwnedShards;
  readonly orphans: OrphanWatch;
}

/** Result of taking units so far. */
export interface Taken {
  /** The highest recovery number that this taker has raised; 0 if none. */
  readonly raised: number;
  readonly warm: readonly WarmLoaded[];
  /** Names of the files that were loaded from this pserver's own folder. */
  readonly files: readonly string[];
}

export class UnitTaker {
  readonly #options: UnitTakerOptions;
  readonly #stopped = new AbortController();
  readonly #again = createSignal();
  /** Number of reasons to look again besides changes of the orphans: ended attempts and copies that were given up. */
  #looks = 0;
  #isComing: (unit: number) => boolean = () => false;
  #copies: TakerCopies | undefined;
  /** Aborted from `hold` until `release`, while the taker takes no units. */
  #held = new AbortController();
  /** Units that are being taken. */
  readonly #taking = new Map<number, Promise<void>>();
  #taken: Taken = { raised: 0, warm: [], files: [] };

  constructor(options: UnitTakerOptions) {
    this.#options = options;
  }

  get taken(): Taken {
    return this.#taken;
  }

  /** Takes due units until no unit is due. */
  async takeDue(): Promise<void> {
    const { stopSignal } = this.#options;
    for (let failures = 0; ; failures++) {
      const due = this.#due();
      if (due.length === 0) return;
      if (!(await this.#takeWhileOrphans(due, stopSignal))) await this.#backOff(failures);
    }
  }

  /**
   * Takes units as they become due, except units that another pserver is moving here. Calls `onGained` each time that
   * units have been taken.
   */
  start(onGained: () => void, isComing: (unit: number) => boolean, copies?: TakerCopies): void {
    this.#isComing = isComing;
    this.#copies = copies;
    this.#run(onGained).catch(unlessStopped(this.#stopped.signal, this.#options.onFatal));
  }

  isTaking(unit: number): boolean {
    return this.#taking.has(unit);
  }

  /** To be called when a unit may have become due. */
  recheck(): void {
    this.#looks += 1;
    this.#again.notify();
  }

  /**
   * Takes nothing until `release`, and gives up waiting. Resolves when no attempt is running. This pserver leads the
   * units that it has taken by then.
   */
  async hold(): Promise<void> {
    this.#held.abort();
    await Promise.allSettled(this.#taking.values());
  }

  release(): void {
    this.#held = new AbortController();
    this.recheck();
  }

  /** Stops taking units. Resolves when no attempt is running. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.allSettled(this.#taking.values());
  }

  async #run(onGained: () => void): Promise<never> {
    const { orphans } = this.#options;
    for (;;) {
      const seen = this.#looks;
      for (const group of groupsOf(this.#options.stopSignal.aborted ? [] : this.#due())) {
        if (!group.some(({ unit }) => this.#taking.has(unit))) this.#begin(group, onGained);
      }
      const again = new AbortController();
      const signal = AbortSignal.any([this.#stopped.signal, again.signal]);
      const ended = this.#again.until(() => this.#looks !== seen || undefined, signal);
      await Promise.race([orphans.changed(signal), ended]).finally(() => again.abort());
    }
  }

  #begin(group: readonly OrphanHead[], onGained: () => void): void {
    const taking = this.#takeOrBackOff(group, onGained)
      .catch(unlessStopped(this.#stopped.signal, this.#options.onFatal))
      .finally(() => {
        for (const { unit } of group) this.#taking.delete(unit);
        this.recheck();
      });
    for (const { unit } of group) this.#taking.set(unit, taking);
  }

  async #takeOrBackOff(group: readonly OrphanHead[], onGained: () => void): Promise<void> {
    const isAll = await this.#takeWhileOrphans(group, this.#stopped.signal);
    if (group.some(({ unit }) => this.#options.shards.heads.of(unit) !== undefined)) onGained();
    if (!isAll) await this.#backOff(0);
  }

  /**
   * Gives up when another pserver has taken any of the units, because this pserver may be unable to reach their files.
   * Returns false if some units were not taken.
   */
  async #takeWhileOrphans(group: readonly OrphanHead[], signal: AbortSignal): Promise<boolean> {
    const { orphans, stopSignal } = this.#options;
    const hasOwner = (): boolean => !group.every((orphan) => orphans.isOrphan(orphan));
    // A stopping process gives up its attempts and saves the units that it leads. A unit that it does not take is no
    // error.
    const held = AbortSignal.any([this.#held.signal, stopSignal]);
    const gone = abortOnChange(orphans.view, hasOwner, signal);
    try {
      return await this.#take(group, AbortSignal.any([signal, gone.signal, held]));
    } catch (error) {
      if (signal.aborted || !(gone.signal.aborted || held.aborted) || !isPaddletError(error, 'Interrupted'))
        throw error;
      return false;
    } finally {
      gone.release();
    }
  }

  /** Returns false if some of the units were not taken. */
  async #take(due: readonly OrphanHead[], waitSignal: AbortSignal): Promise<boolean> {
    const { shards } = this.#options;
    for (const { unit } of due) this.#copies?.free(unit);
    try {
      const loaded = await this.#load(due, waitSignal);
      return loaded !== undefined && (await this.#own(due, loaded));
    } finally {
      for (const { unit } of due) {
        if (shards.heads.of(unit) !== undefined) continue;
        for (const shard of shards.shardsOf(unit))
          if (shards.parameters.hasShard(shard)) shards.parameters.dropShard(shard);
      }
    }
  }

  /** Undefined if updates are missing and another pserver has taken some of the units. */
  async #load(due: readonly OrphanHead[], waitSignal: AbortSignal): Promise<FilledShards | undefined> {
    const { context, record, spec, fence, index, folder, shards, onWaiting } = this.#options;
    const { cluster, training, checkpoint } = record.job;
    const loaded = await loadShards({
      ...{ context, index, folder, waitSignal, onWaiting, orphans: due },
      me: { index, token: fence.token.toString() },
      units: record.units,
      expected: { jobId: record.id, parameters: spec, seed: training.seed, shards: cluster.shards },
      partingLimitMs: cluster.leaseTtlMs,
      into: shards.parameters,
      warmStart: record.warmStart,
    });
    failPoint('pserver.loaded');
    // Raising the number costs the whole job work, so first check that the heads are unchanged.
    if (!loaded.exact && (await unchanged(context, due)).length < due.length) return undefined;
    const raised = loaded.exact ? 0 : await raiseRecovery(context, fence);
    failPoint('pserver.recovery-raised');
    this.#taken = {
      raised: Math.max(this.#taken.raised, raised),
      warm: [...this.#taken.warm, ...loaded.warm],
      files: [...this.#taken.files, ...loaded.files],
    };
    for (const snapshot of loaded.partings) {
      await adoptParting({ context, fence, index, folder, keep: checkpoint.keep }, snapshot);
    }
    return loaded;
  }

  async #own(due: readonly OrphanHead[], loaded: FilledShards): Promise<boolean> {
    const { context, record, fence, index, shards, lease } = this.#options;
    const me = { index, token: fence.token.toString() };
    const grouping = { shards: record.job.cluster.shards, units: record.units };
    const { rests, partedAt } = loaded;
    const by = { context, fence, me, grouping, rests, partings: partedAt, signal: lease.lost };
    const owned = await takeUnits(by, due);
    for (const one of owned) {
      shards.add(one, loaded, false);
      this.#copies?.taken(one);
    }
    context.host.log.info(`serving ${shards.numbers.length} shards as index ${index}`, { from: loaded.source });
    return owned.length === due.length;
  }

  /** The view may lag behind the store and still show units that this pserver has taken. */
  #due(): OrphanHead[] {
    const { orphans, shards } = this.#options;
    if (this.#held.signal.aborted) return [];
    const isFree = (unit: number): boolean => shards.heads.of(unit) === undefined && !this.#isComing(unit);
    return orphans.due().filter(({ unit }) => isFree(unit));
  }

  #backOff(failures: number): Promise<void> {
    const signal = AbortSignal.any([this.#stopped.signal, this.#held.signal, this.#options.stopSignal]);
    return pause(this.#options.context.host.clock, backoffMs(failures), signal);
  }
}

/** Groups units by the place of their last state, so that an unreachable file delays only its own units. */
const groupsOf = (due: readonly OrphanHead[]): OrphanHead[][] => [
  ...Map.groupBy(due, ({ head }) => head && stateKey(head)).values(),
];
