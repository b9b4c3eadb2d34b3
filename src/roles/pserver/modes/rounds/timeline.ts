/**
 * Sync mode: the state of the shards under one timeline. When the timeline rises, the pserver retires this state and
 * loads another one.
 */
import { pushPlanOf } from '../../../../cluster/job/job-plan.ts';
import type { CutView } from '../../../../cluster/placement/cut-view.ts';
import type { RoundPlan } from '../../../../core/rounds/plan.ts';
import { failWholeJob } from '../../fail-job.ts';
import { beforeUpdates } from '../../files/first-update.ts';
import { Snapshots } from '../../files/snapshots.ts';
import type { OwnedHead } from '../../held/owned-heads.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import type { LastCopy } from '../../replicas/last-copies.ts';
import type { ServedReplicas } from '../../replicas/served-replicas.ts';
import { createServing, type Serving, servedJob } from '../../serving.ts';
import type { ShardServiceOptions } from '../../shard-service.ts';
import type { Moves } from '../../transfer/moves.ts';
import type { LoadedUnits } from './load.ts';
import { Rounds } from './rounds.ts';
import { saveAll, saveLast, saveParting } from './save-last.ts';

export interface TimelineOptions extends ShardServiceOptions {
  readonly cuts: CutView;
  readonly moves: Moves;
  /** Undefined if each unit has only one copy. */
  readonly replicas?: ServedReplicas | undefined;
  /** The mini-batch of each lane in each round. */
  readonly batches: Pick<RoundPlan, 'batchOf' | 'placeOf' | 'roundsOf'>;
}

export class TimelineState {
  readonly timeline: number;
  readonly index: number;
  readonly shards: OwnedShards;
  readonly rounds: Rounds;
  readonly snapshots: Snapshots;
  readonly serving: Serving;
  #isFrozen = false;
  /** Functions that end the running holds of `withoutSaves`. */
  readonly #holds = new Set<() => void>();
  /** The newest save or hold; it starts when all earlier ones have ended. */
  #saving: Promise<unknown> = Promise.resolve();

  /** `shards` are already in the loaded state. */
  constructor(options: TimelineOptions, timeline: number, loaded: LoadedUnits, shards: OwnedShards) {
    const { context, record, spec, lease, metrics } = options;
    const { lanes } = record.job.training;
    const { cluster } = record.job;
    this.index = options.index;
    this.timeline = timeline;
    this.shards = shards;
    this.snapshots = new Snapshots({
      ...options,
      shards,
      recovery: () => 0,
      isFolderKnown: loaded.files.length > 0,
      timeline,
    });
    const isHeld = (): boolean => lease.isHeld();
    const isFrozen = (): boolean => this.#isFrozen;
    this.rounds = new Rounds({
      ...{ clock: context.host.clock, times: metrics.times, timeline, lanes, spec, shards, isHeld, isFrozen },
      grouping: { shards: cluster.shards, units: record.units },
      loaded: loaded.rounds,
      ...{ moves: options.moves, replicas: options.replicas, onBug: options.onFatal },
      counts: {
        plan: pushPlanOf(record),
        batches: options.batches,
        onContradiction: (error) => failWholeJob(options, error),
      },
      save: (kind, source) => this.#inTurn(() => this.snapshots.save(kind, source())),
      deltas: this.snapshots.parents,
      onFatal: (error) => failWholeJob(options, error),
    });
    this.serving = createServing({
      ...{ host: context.host, job: servedJob(record, spec), shards, metrics, isHeld, isFrozen },
      rounds: this.rounds,
      rateShare: () => shards.rateShareOf(this.rounds.gates.version()),
      ...{ moves: options.moves, replicas: options.replicas },
      checkMaster: options.master.check,
      onContradiction: (error) => failWholeJob(options, error),
      recovery: () => 0,
      staleness: { rule: undefined, patienceMs: cluster.leaseTtlMs },
      beforeUpdate: beforeUpdates({ heads: shards.heads, isFrozen, onFatal: options.onFatal }),
      // Even the final checkpoint freezes nothing: after the last round, lanes arrive only if all pservers go back to a
      // cut.
      checkpoint: (kind) => this.#inTurn(() => saveAll(this, kind)),
      onApplied: () => {},
    });
  }

  /** Adds units that this pserver has taken; their shards are already present in the parameters. */
  add(taken: readonly OwnedHead[], loaded: LoadedUnits): void {
    if (loaded.files.length > 0) this.snapshots.folderSeen();
    for (const owned of taken) {
      this.shards.add(owned, loaded, false);
      const { round, metrics } = loaded.rounds.get(owned.unit)!;
      this.rounds.add(owned.unit, { version: round, previous: undefined, metrics });
    }
  }

  /** To be called on a clean stop, after `freeze`. */
  saveLast(): Promise<void> {
    return this.#inTurn(() => saveLast(this));
  }

  /** To be called after `freeze`, when the index is lost. */
  async saveParting(copies: readonly LastCopy[]): Promise<void> {
    await this.#saving;
    await saveParting(this, copies);
  }

  /** Resolves when no save is running. No save starts until the returned function is called. */
  async withoutSaves(): Promise<() => void> {
    const before = this.#saving;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      this.#holds.delete(end);
      resolve();
    };
    this.#holds.add(end);
    this.#saving = before.then(() => promise);
    await before;
    return end;
  }

  /** Ends the holds of moves that this process abandons because it ends. */
  endHolds(): void {
    for (const end of [...this.#holds]) end();
  }

  /** Resolves when no save is running. */
  async saved(): Promise<void> {
    await this.#saving;
  }

  freeze(): void {
    this.#isFrozen = true;
    this.rounds.close();
  }

  /** The part of `info` that depends on the timeline. */
  info() {
    const { gates } = this.rounds;
    return {
      timeline: this.timeline,
      round: gates.version(),
      missing: gates.missing(),
      rateShare: this.serving.rateShare(),
      account: this.shards.ledgers.account(),
      duplicatePushes: this.serving.metrics.duplicatePushes(),
      spentMs: this.serving.metrics.spentMs(),
    };
  }

  #inTurn<T>(save: () => Promise<T>): Promise<T> {
    const saved = this.#saving.then(save);
    this.#saving = Promise.allSettled([saved]);
    return saved;
  }
}
