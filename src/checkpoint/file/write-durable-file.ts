/** Puts a pserver's shards into a new file. One shard at a time is captured while the others may change. */
import { failPoint } from '../../base/fail-points.ts';
import type { DiskFile, PutOptions, Storage } from '../../base/seams.ts';
import { ReusedMemory } from '../../tensor/row-memory.ts';
import { type Capturable, captureShard, type ShardMoment } from './capture.ts';
import { capturedBytes } from './extent.ts';
import { createCheckpointWriter, type WrittenCheckpoint } from './extent-writer.ts';
import type { CheckpointMeta, ShardPosition } from './format.ts';
import { checkpointPath, jobTag, temporaryPath } from './paths.ts';
import type { Pace } from './safetensors/writer.ts';

export interface WriteCheckpointOptions extends Pick<PutOptions<WrittenCheckpoint>, 'isFolderKnown'> {
  readonly storage: Storage;
  readonly folder: string;
  readonly meta: CheckpointMeta;
  readonly parameters: Capturable;
  readonly shards: readonly number[];
  /** Called at the instant at which the shard is copied. */
  readonly momentOf: (shard: number) => ShardMoment;
  readonly pace?: Pace;
  /** Lets other work have the thread; called between shards, not before each small one. */
  readonly rest?: () => Promise<void>;
  readonly extentBytes?: number;
  /** Called with the length of the unfinished file if the disk did not take all of it. */
  readonly onUnfinished?: (bytes: number) => void;
}

/** Copied without a rest: shards are gathered before they are written, and gathering alone never waits. */
const COPIED_AT_ONCE_BYTES = 1024 * 1024;

export interface CheckpointFile {
  readonly uuid: string;
  /** Lower-case hexadecimal, of the whole file as read back. */
  readonly md5: string;
  readonly bytes: number;
  readonly rows: number;
  readonly positions: readonly ShardPosition[];
}

/**
 * Puts `<folder>/<index>/<uuid>`. When this returns, the file is whole, durable and not yet published. Throws the
 * errors of the storage.
 */
export async function writeCheckpointFile(options: WriteCheckpointOptions): Promise<CheckpointFile> {
  const { storage, folder, meta } = options;
  const place = { folder, index: meta.index };
  const { written, digest } = await storage.put(checkpointPath(place, meta.uuid), {
    ...(options.isFolderKnown === undefined ? {} : { isFolderKnown: options.isFolderKnown }),
    spool: temporaryPath(place, { jobTag: jobTag(meta.jobId), token: meta.token, uuid: meta.uuid }),
    write: (file) => writeShards(file, options),
    onFull: options.onUnfinished,
  });
  const { bytes, rows, positions } = written;
  return { uuid: meta.uuid, md5: digest.md5, bytes, rows, positions };
}

async function writeShards(file: DiskFile, options: WriteCheckpointOptions): Promise<WrittenCheckpoint> {
  const { meta, parameters, shards, momentOf, pace, extentBytes } = options;
  const memory = new ReusedMemory();
  const writer = await createCheckpointWriter({
    file,
    onWritten: () => memory.reset(),
    meta,
    shards: shards.length,
    expectedBytes: parameters.stats().bytes,
    ...(pace === undefined ? {} : { pace }),
    ...(extentBytes === undefined ? {} : { extentBytes }),
  });
  let copiedBytes = 0;
  for (const shard of shards) {
    if (copiedBytes >= COPIED_AT_ONCE_BYTES) {
      await options.rest?.();
      copiedBytes = 0;
    }
    const captured = captureShard(parameters, meta, momentOf(shard), memory);
    copiedBytes += capturedBytes(captured);
    await writer.add(captured);
    failPoint('checkpoint.captured');
  }
  return writer.finish();
}
