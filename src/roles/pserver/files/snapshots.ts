/** Writes and publishes this pserver's checkpoints, and a parting snapshot after it lost its index. */
import { PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Capturable, ShardMoment } from '../../../checkpoint/file/capture.ts';
import type { CheckpointMeta, RoundsMeta } from '../../../checkpoint/file/format.ts';
import { type CheckpointFile, writeCheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import { generationOf } from '../../../checkpoint/registry/entry.ts';
import { publishParting } from '../../../checkpoint/registry/publish.ts';
import { saveCheckpoint } from '../../../checkpoint/registry/save.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { Fence } from '../../../store/fence.ts';
import { storeWaitLogger } from '../../../store/retry-until-answered.ts';
import type { TrainedSpec } from '../../../tensor/optimizer.ts';
import type { OwnedShards } from '../shards.ts';
import { createPace } from './pace.ts';

export interface SnapshotOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: TrainedSpec;
  readonly fence: Fence;
  readonly index: number;
  readonly folder: string;
  readonly shards: OwnedShards;
  readonly recovery: () => number;
  /** In sync mode. */
  readonly sync?: {
    readonly timeline: number;
    /** The round that all shards are at now. */
    readonly rounds: () => RoundsMeta;
  };
}

/** Follows "waiting for". */
const folderTrouble = (folder: string, error: Error & { readonly code?: unknown }): string =>
  error.code === 'ENOSPC' || error.code === 'EDQUOT'
    ? `room in the checkpoint folder ${folder}`
    : `the checkpoint folder ${folder}: ${error.message}`;

/** The shards as they were at some instant, for a file that is written while later updates are applied. */
export interface SnapshotSource {
  readonly parameters: Capturable;
  readonly momentOf: (shard: number) => ShardMoment;
  readonly rounds: RoundsMeta;
}

export class Snapshots {
  readonly #options: SnapshotOptions;
  readonly #unlimited = new AbortController();
  readonly #abandoned = new AbortController();

  constructor(options: SnapshotOptions) {
    this.#options = options;
  }

  /**
   * Saves the shards and publishes the file under the fence. `clean`: nothing will be applied after it. Throws
   * `LeaseGone` when the fence is another's by now, `CheckpointNotWritten` when the disk fails, `Interrupted` when
   * abandoned.
   */
  async save(clean: boolean, source?: SnapshotSource): Promise<CheckpointFile> {
    const { context, record, fence, index, folder, shards, sync } = this.#options;
    const { disk, clock, log } = context.host;
    const { keys, store } = context;
    const startedMs = clock.monotonicMs();
    const saving = saveCheckpoint({
      disk,
      folder,
      meta: this.#metaOf(clean, source?.rounds),
      parameters: source?.parameters ?? shards.parameters,
      shards: shards.numbers,
      momentOf: source?.momentOf ?? ((shard) => shards.momentOf(shard)),
      store,
      clock,
      signal: this.#abandoned.signal,
      onWaiting: storeWaitLogger({ clock, log, store }),
      fence,
      key: keys.checkpoint(index),
      keep: record.job.checkpoint.keep,
      ...(sync === undefined ? {} : { cutKey: keys.cut }),
      ...(context.extentBytes === undefined ? {} : { extentBytes: context.extentBytes }),
      rest: () => new Promise((resolve) => void clock.after(0, resolve)),
      ...this.#paceOf(clean),
    });
    const saved = await this.#onDisk(saving);
    context.troubles.clear('checkpointFolder');
    if (saved.complaint !== undefined) log.warn(saved.complaint);
    for (const { path, error } of saved.undeleted) {
      log.warn(`${path} could not be deleted: ${(error as Error).message}`);
    }
    const { uuid, bytes, rows } = saved.file;
    const tookMs = Math.round(clock.monotonicMs() - startedMs);
    log.info(`checkpoint ${uuid} published`, { bytes, rows, clean, tookMs });
    return saved.file;
  }

  /**
   * A parting snapshot, after the lease was lost: a clean file under this owner's own token, for the next owner of its
   * shards. It needs no fence: it is looked for only while the heads of the shards still name this token.
   */
  async saveParting(): Promise<CheckpointFile> {
    const { context, fence, folder, shards } = this.#options;
    const { disk, clock, log } = context.host;
    const { keys, store } = context;
    const meta = this.#metaOf(true);
    const writing = writeCheckpointFile({
      ...{ disk, folder, meta, parameters: shards.parameters, shards: shards.numbers },
      momentOf: (shard) => shards.momentOf(shard),
    });
    const file = await this.#onDisk(writing);
    const generation = generationOf(file, meta);
    const onWaiting = storeWaitLogger({ clock, log, store });
    await publishParting({ store, clock, onWaiting, key: keys.parting(fence.token), generation });
    failPoint('checkpoint.parted');
    log.info(`parting snapshot ${file.uuid} announced`, { bytes: file.bytes });
    return file;
  }

  /** From now on no save is limited to `maxBytesPerSecond`: the process waits for it in order to stop. */
  endRateLimit(): void {
    this.#unlimited.abort();
  }

  /** The running save is needed no more: if it waits for the store, it ends with `Interrupted`. */
  abandon(): void {
    this.#unlimited.abort();
    this.#abandoned.abort();
  }

  /** On shutdown, finish fast: no rate limit. */
  #paceOf(clean: boolean) {
    const { maxBytesPerSecond } = this.#options.record.job.checkpoint;
    if (clean || maxBytesPerSecond === undefined) return {};
    return { pace: createPace(this.#options.context.host.clock, maxBytesPerSecond, this.#unlimited.signal) };
  }

  #metaOf(clean: boolean, rounds = this.#options.sync?.rounds()): CheckpointMeta {
    const { context, record, spec, fence, index, recovery, sync } = this.#options;
    const { job } = record;
    return {
      uuid: context.host.random.uuid(),
      jobId: record.id,
      jobName: job.name,
      index,
      token: fence.token,
      recovery: BigInt(recovery()),
      timeline: BigInt(sync?.timeline ?? 0),
      ...(rounds === undefined ? {} : { rounds }),
      kind: 'full',
      clean,
      createdAt: context.host.clock.wallSeconds(),
      parameters: spec,
      seed: job.training.seed,
      shards: job.cluster.shards,
    };
  }

  /** A full or failing disk is for the operator to fix; the parameters are still in memory. */
  async #onDisk<T>(writing: Promise<T>): Promise<T> {
    try {
      return await writing;
    } catch (error) {
      if (error instanceof PaddletError || !(error instanceof Error) || !('code' in error)) throw error;
      const { context, folder } = this.#options;
      context.troubles.set('checkpointFolder', folderTrouble(folder, error));
      throw new PaddletError('CheckpointNotWritten', `the checkpoint could not be written: ${error.message}`, {
        hint: `make room in ${this.#options.folder}, or make it writable`,
        cause: error,
      });
    }
  }
}
