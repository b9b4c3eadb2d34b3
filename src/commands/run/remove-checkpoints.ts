/** Removes the checkpoint files of one job from a folder that may also have files of other jobs, and other files. */
import { basename } from 'node:path';
import { isPaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import type { Storage } from '../../base/seams.ts';
import { openFile } from '../../checkpoint/file/files.ts';
import { FORMAT } from '../../checkpoint/file/format.ts';
import { jobTag, parseTemporaryName } from '../../checkpoint/file/paths.ts';
import { readMetadataOnly } from '../../checkpoint/file/safetensors/reader.ts';
import { type FolderFiles, findFiles } from '../../checkpoint/registry/discover.ts';

export interface FilesOfJob {
  /** The job whose files are removed; undefined when its record cannot be read. */
  readonly jobId: string | undefined;
  /** Files that it has published: they are removed even when their headers are damaged. */
  readonly names: ReadonlySet<string>;
}

export async function removeCheckpoints(storage: Storage, folder: string, { jobId, names }: FilesOfJob): Promise<void> {
  const { files, unfinished, kept = [] } = await filesUnder(storage, folder);
  for (const { path, index, uuid } of [...files, ...kept]) {
    if (index === undefined || uuid === undefined) continue;
    if (names.has(uuid) || (jobId !== undefined && (await jobIdOf(storage, path)) === jobId))
      await storage.delete(path);
  }
  for (const path of unfinished) {
    if (jobId !== undefined && parseTemporaryName(basename(path))?.jobTag === jobTag(jobId)) await storage.delete(path);
  }
}

async function filesUnder(storage: Storage, folder: string): Promise<Omit<FolderFiles, 'folder'>> {
  try {
    return await findFiles(storage, folder);
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing')) return { files: [], unfinished: [] };
    throw error;
  }
}

async function jobIdOf(storage: Storage, path: string): Promise<string | undefined> {
  try {
    const metadata = await withFile(await openFile(storage, path), (file) => readMetadataOnly(file, path));
    return metadata.get('format') === FORMAT ? metadata.get('jobId') : undefined;
  } catch (error) {
    // The job of the file is unknown, so the file is kept.
    if (isPaddletError(error, 'CheckpointCorrupt', 'CheckpointMissing')) return undefined;
    throw error;
  }
}
