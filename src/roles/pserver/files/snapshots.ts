/** Writes and publishes this pserver's checkpoints: now and again, at the end of the job, on a clean stop, in parting. */
import { PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import {
  type Capturable,
  type CheckpointFile,
  type ShardMoment,
  writeCheckpointFile,
} from '../../../checkpoint/file/capture.ts';
import type { CheckpointMeta, RoundsMeta } from '../../../checkpoint/file/format.ts';
import { type Generation, generationOf } from '../../../checkpoint/registry/entry.ts';
import { publishParting } from '../../../checkpoint/registry/publish.ts';
import { saveCheckpoint } from '../../../checkpoint/registry/save.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { Fence } from '../../../store/fence.ts';
import { storeWaitLogger } from '../../../store/retry-until-answered.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import { createPace } from './pace.ts';

export interface SnapshotOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: ParameterSpec;
  readonly fence: Fence;
  readonly index: number;
  readonly folder: string;
  readonly parameters: Parameters;
  /** Of a shard at the instant of the call. */
  readonly momentOf: (shard: number) => ShardMoment;
  readonly recovery: () => number;
  /** In sync mode. */
  readonly sync?: {
    readonly timeline: number;
    /** Where all shards stand now. */
    readonly rounds: () => RoundsMeta;
    readonly isProtected: (generation: Generation) => boolean;
  };
}

/** The shards as they were at some instant, for a file that is written while they go on. */
export interface SnapshotSource {
  readonly parameters: Capturable;
  readonly momentOf: (shard: number) => ShardMoment;
  readonly rounds: RoundsMeta;
}

export interface Snapshots {
  /** Published under the fence; `LeaseGone` when it is no longer ours. `clean`: nothing will be applied after it. */
  save(clean: boolean, source?: SnapshotSource): Promise<CheckpointFile>;
  /**
   * After the lease was lost: a clean snapshot under this owner's own token, for whoever takes its shards. It needs no
   * fence: it is looked for only while the shards' heads still name this token.
   */
  part(): Promise<CheckpointFile>;
  /** Somebody waits for this pserver to leave: no save is held to a rate any more. */
  hurry(): void;
  /** Nobody needs what is being saved: a save that waits for the store ends with `Interrupted`. */
  end(): void;
}

export function createSnapshots(options: SnapshotOptions): Snapshots {
  const { context, record, fence, index, folder, parameters, momentOf } = options;
  const { disk, clock, log, random } = context.host;
  const { keys, store } = context;
  const hurried = new AbortController();
  const ended = new AbortController();

  function metaOf(clean: boolean, rounds = options.sync?.rounds()): CheckpointMeta {
    const { job } = record;
    return {
      uuid: random.uuid(),
      jobId: record.id,
      jobName: job.name,
      index,
      token: fence.token,
      recovery: BigInt(options.recovery()),
      timeline: BigInt(options.sync?.timeline ?? 0),
      ...(rounds === undefined ? {} : { rounds }),
      kind: 'full',
      clean,
      createdAt: clock.wallSeconds(),
      parameters: options.spec,
      optimizer: job.optimizer,
      seed: job.training.seed,
      shards: job.cluster.shards,
    };
  }

  /** A disk that is full or failing is the operator's to mend; the parameters are still here. */
  async function onDisk<T>(writing: Promise<T>): Promise<T> {
    try {
      return await writing;
    } catch (error) {
      if (error instanceof PaddletError || !(error instanceof Error) || !('code' in error)) throw error;
      throw new PaddletError('CheckpointNotWritten', `the checkpoint could not be written: ${error.message}`, {
        hint: `make room in ${folder}, or make it writable`,
        cause: error,
      });
    }
  }

  return {
    async save(clean, source) {
      const { keep, maxBytesPerSecond } = record.job.checkpoint;
      const startedMs = clock.monotonicMs();
      const saving = saveCheckpoint({
        disk,
        folder,
        meta: metaOf(clean, source?.rounds),
        parameters: source?.parameters ?? parameters,
        shards: parameters.shards(),
        momentOf: source?.momentOf ?? momentOf,
        store,
        clock,
        signal: ended.signal,
        onWaiting: storeWaitLogger({ clock, log, store }),
        fence,
        key: keys.checkpoint(index),
        keep,
        ...(options.sync === undefined ? {} : { isProtected: options.sync.isProtected }),
        rest: () => new Promise((resolve) => void clock.after(0, resolve)),
        // In leaving, time is dearer than the network.
        ...(clean || maxBytesPerSecond === undefined
          ? {}
          : { pace: createPace(clock, maxBytesPerSecond, hurried.signal) }),
      });
      const saved = await onDisk(saving);
      if (saved.complaint !== undefined) log.warn(saved.complaint);
      for (const { path, error } of saved.undeleted)
        log.warn(`${path} could not be deleted: ${(error as Error).message}`);
      const { uuid, bytes, rows } = saved.file;
      const tookMs = Math.round(clock.monotonicMs() - startedMs);
      log.info(`checkpoint ${uuid} published`, { bytes, rows, clean, tookMs });
      return saved.file;
    },
    async part() {
      const meta = metaOf(true);
      const shards = parameters.shards();
      const file = await onDisk(writeCheckpointFile({ disk, folder, meta, parameters, shards, momentOf }));
      const generation = generationOf(file, meta);
      const onWaiting = storeWaitLogger({ clock, log, store });
      await publishParting({ store, clock, onWaiting, key: keys.parting(fence.token), generation });
      failPoint('checkpoint.parted');
      log.info(`parting snapshot ${file.uuid} announced`, { bytes: file.bytes });
      return file;
    },
    hurry: () => hurried.abort(),
    end() {
      hurried.abort();
      ended.abort();
    },
  };
}
