/** Async mode: loads the shards of this pserver, takes them, serves them and saves them. */
import { failPoint } from '../../../base/fail-points.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import type { ShardsInfo } from '../../../cluster/info.ts';
import { type RecoveryView, raiseRecovery } from '../../../cluster/placement/recovery.ts';
import { createParameters } from '../../../tensor/wasm-parameters.ts';
import { failWholeJob } from '../fail-job.ts';
import { adoptParting } from '../files/adopt-parting.ts';
import { type Checkpointing, createCheckpointing } from '../files/checkpointing.ts';
import { beforeUpdates } from '../files/first-update.ts';
import { Snapshots } from '../files/snapshots.ts';
import { sweepOrphans } from '../files/sweep.ts';
import { OwnedHeads } from '../owned-heads.ts';
import { createServing, type Serving, servedJob } from '../serving.ts';
import type { ShardService, ShardServiceOptions } from '../shard-service.ts';
import { OwnedShards } from '../shards.ts';
import { readPlannedHeads, takeUnits } from '../take-units.ts';
import { type FilledShards, loadShards } from './load.ts';
import type { StalenessCounts } from './staleness.ts';

export interface TaskServiceOptions extends ShardServiceOptions {
  readonly recoveries: RecoveryView;
}

export async function startTaskService(options: TaskServiceOptions): Promise<ShardService> {
  const { context, record, spec, index, fence, folder, lease } = options;
  const { cluster, training, checkpoint } = record.job;
  const { shards, pservers } = cluster;
  const { units } = record;
  const me = { index, token: fence.token.toString() };
  const heads = await readPlannedHeads(context, { index, pservers, units });
  const parameters = createParameters({ spec, seed: training.seed, shards });
  const expected = { jobId: record.id, parameters: spec, seed: training.seed, shards };
  const { warmStart } = record;
  const loaded = await loadShards({
    ...{ context, index, me, heads, units, folder, expected, into: parameters, warmStart },
    ...{ waitSignal: options.stopSignal, onWaiting: options.onWaiting },
  });
  failPoint('pserver.loaded');
  // All roles can know that acknowledged pushes are gone before any request is answered from these shards.
  const raised = loaded.exact ? 0 : await raiseRecovery(context, fence);
  failPoint('pserver.recovery-raised');
  for (const snapshot of loaded.partings) {
    await adoptParting({ context, fence, index, folder, keep: checkpoint.keep }, snapshot);
  }
  const taken = await takeUnits({ context, fence, grouping: { shards, units } }, me, heads, loaded.rests);
  await sweepOrphans(options, loaded.files);
  const ownedHeads = new OwnedHeads({ context, fence, signal: lease.lost }, taken);
  const job = { spec, shards, units, tasks: record.train.tasks };
  const owned = new OwnedShards(job, ownedHeads, { ...loaded, parameters });
  context.host.log.info(`serving ${owned.numbers.length} shards as index ${index}`, { from: loaded.source });
  return new TaskService(options, { shards: owned, loaded, raised });
}

interface StartedShards {
  readonly shards: OwnedShards;
  readonly loaded: Pick<FilledShards, 'warm' | 'files'>;
  /** The recovery number that this load raised, or 0. */
  readonly raised: number;
}

class TaskService implements ShardService {
  readonly serving: Serving;
  readonly #options: TaskServiceOptions;
  readonly #started: StartedShards;
  readonly #snapshots: Snapshots;
  readonly #checkpointing: Checkpointing;
  #isFrozen = false;

  constructor(options: TaskServiceOptions, started: StartedShards) {
    this.#options = options;
    this.#started = started;
    const { context, record, spec, lease, metrics, onFatal } = options;
    const { shards, loaded } = started;
    const { training, cluster, checkpoint } = record.job;
    const recovery = (): number => this.#recovery();
    this.#snapshots = new Snapshots({ ...options, shards, recovery, isFolderKnown: loaded.files.length > 0 });
    this.#checkpointing = createCheckpointing({
      ...context.host,
      when: checkpoint,
      snapshots: this.#snapshots,
      start: this.#progress(),
      // From then on this job does not need the files of the other one.
      savesAtOnce: loaded.warm.length > 0,
      onFatal,
    });
    this.serving = createServing({
      ...{ host: context.host, job: servedJob(record, spec), shards, metrics, recovery },
      checkMaster: options.master.check,
      onContradiction: (error) => failWholeJob(options, error),
      staleness: { rule: training.staleness, patienceMs: cluster.leaseTtlMs },
      isHeld: () => lease.isHeld(),
      isFrozen: () => this.#isFrozen,
      beforeUpdate: beforeUpdates({ heads: shards.heads, isFrozen: () => this.#isFrozen, onFatal }),
      checkpoint: (final) => this.#checkpoint(final),
      rounds: undefined,
      onApplied: () => {
        const { passes, batches } = this.#progress();
        this.#checkpointing.progressed(passes, batches);
      },
    });
  }

  freeze(): void {
    this.serving.staleness.close();
    this.#isFrozen = true;
  }

  /** Only then do the heads name it as the last state: a save that fails half-way leaves them as they were. */
  async saveLast(): Promise<CheckpointFile> {
    const file = await this.#checkpointing.last();
    await this.#started.shards.heads.rest({ index: this.#options.index, uuid: file.uuid });
    return file;
  }

  saveParting(): Promise<unknown> {
    return this.#snapshots.saveParting();
  }

  stopSaving(): Promise<void> {
    return this.#checkpointing.stop();
  }

  stats(): ReturnType<OwnedShards['stats']> {
    return this.#started.shards.stats();
  }

  info(): ShardsInfo {
    const { index, lease, metrics } = this.#options;
    const { shards, loaded } = this.#started;
    return {
      state: 'working',
      mode: 'async',
      index,
      ...shards.stats(),
      placement: shards.stamp,
      updates: shards.version,
      recovery: this.#recovery(),
      repairing: shards.ledgers.groups() > 1,
      held: lease.isHeld(),
      account: shards.ledgers.account(),
      duplicatePushes: metrics.duplicatePushes(),
      staleness: shownStaleness(this.serving.staleness.counts()),
      ...(loaded.warm.length === 0 ? {} : { warmStart: loaded.warm }),
    };
  }

  #recovery(): number {
    return Math.max(this.#started.raised, this.#options.recoveries.current()?.number ?? 0);
  }

  #progress(): { readonly passes: number; readonly batches: number } {
    const { shards } = this.#started;
    return {
      passes: shards.ledgers.watermark(),
      batches: shards.version * this.#options.record.job.training.pushEvery,
    };
  }

  #checkpoint(final: boolean): Promise<CheckpointFile | undefined> {
    if (!final) return this.#checkpointing.request();
    this.#isFrozen = true;
    return this.saveLast();
  }
}

function shownStaleness({ counted, sum, max, refused }: StalenessCounts) {
  return { mean: counted === 0 ? 0 : Math.round((100 * sum) / counted) / 100, max, refused };
}
