/**
 * Writes a pserver's shards into a new file that survives a power failure: temporary name, sync
 * (`safetensors/writer.ts`), read back, rename, sync of the folder. One shard at a time is captured while the others
 * may change.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Disk, DiskFile, FileDigest } from '../../base/seams.ts';
import { ReusedMemory } from '../../tensor/row-memory.ts';
import { type Capturable, captureShard, type ShardMoment } from './capture.ts';
import { capturedBytes } from './extent.ts';
import { createCheckpointWriter, type WrittenCheckpoint } from './extent-writer.ts';
import { makeDurableFolder, withFile } from './files.ts';
import type { CheckpointMeta, ShardPosition } from './format.ts';
import { checkpointPath, indexFolder, jobTag, temporaryPath } from './paths.ts';
import type { Pace } from './safetensors/writer.ts';
import { digestPath } from './scan.ts';

export interface WriteCheckpointOptions {
  readonly disk: Disk;
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
  /**
   * The folder has been written to before: it is not made again. If it is missing, its file system is not mounted, and
   * a file written below would vanish when it is.
   */
  readonly isFolderKnown?: boolean;
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
 * Writes `<folder>/<index>/<uuid>`: under a temporary name, synced, read back for its MD5, renamed, folder synced. When
 * this returns, the file is whole, durable and not yet published. When it throws (the disk's own errors), the
 * temporary file is removed if the disk lets it.
 */
export async function writeCheckpointFile(options: WriteCheckpointOptions): Promise<CheckpointFile> {
  const { disk, folder, meta } = options;
  const place = { folder, index: meta.index };
  const temporary = temporaryPath(place, { jobTag: jobTag(meta.jobId), token: meta.token, uuid: meta.uuid });
  const path = checkpointPath(place, meta.uuid);
  if (options.isFolderKnown !== true) await makeDurableFolder(disk, indexFolder(place));
  try {
    const written = await withFile(await disk.create(temporary), (file) => {
      failPoint('checkpoint.begun');
      return writeShards(file, options).catch(async (error: unknown) => {
        if (isFull(error)) options.onUnfinished?.(await file.size());
        throw error;
      });
    });
    // The header comes first in the file and last in time, so its MD5 needs a second pass; it also shows a disk that
    // does not return what was written to it.
    const digest = await readBack(disk, temporary, written.bytes);
    failPoint('checkpoint.digested');
    await disk.rename(temporary, path);
    failPoint('checkpoint.renamed');
    await disk.syncFolder(indexFolder(place));
    failPoint('checkpoint.folder-synced');
    const { rows, positions } = written;
    return { uuid: meta.uuid, md5: digest.md5, bytes: digest.bytes, rows, positions };
  } catch (error) {
    await discard(disk, [temporary, path], error);
    throw error;
  }
}

/** No room is left, or none that this user may take. */
export const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

/** Reads back what was just written. A disk that lost it is for the operator to fix: no checkpoint was damaged. */
async function readBack(disk: Disk, path: string, bytes: number): Promise<FileDigest> {
  const lost = 'paddlet read back different bytes than it wrote: check the disk, or save elsewhere';
  const digest = await digestPath(disk, path).catch((error: unknown) => {
    if (!isPaddletError(error, 'CheckpointCorrupt', 'CheckpointMissing')) throw error;
    // The next owner of the index removes what an owner before it had not finished.
    const hint =
      error.code === 'CheckpointMissing'
        ? 'another process removed the file: another pserver may now own the index'
        : lost;
    throw new PaddletError('CheckpointNotWritten', error.message, { hint, cause: error });
  });
  if (digest.bytes === bytes) return digest;
  throw new PaddletError('CheckpointNotWritten', `${path}: wrote ${bytes} bytes, read back ${digest.bytes}`, {
    hint: lost,
  });
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

/** Removes files that were never published. The next start removes what cannot be removed now (orphans.ts). */
async function discard(disk: Disk, paths: readonly string[], reason: unknown): Promise<void> {
  for (const path of paths) {
    try {
      await disk.remove(path);
    } catch (error) {
      if (reason instanceof Error) reason.message += `; ${path} is left behind: ${(error as Error).message}`;
    }
  }
}
