/** Opens and closes files, and tells damage to a file from a failure of the machine. */
import { dirname } from 'node:path';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Disk, DiskFile } from '../../base/seams.ts';

export const corrupt = (file: string, message: string, cause?: unknown): PaddletError =>
  new PaddletError('CheckpointCorrupt', `${file}: ${message}`, cause === undefined ? {} : { cause });

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | undefined)?.code;

/** A sector that cannot be read is damage to the file; other failures are the machine's and pass through. */
export async function asCorrupt<T>(name: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (codeOf(error) === 'EIO' || codeOf(error) === 'EISDIR') throw corrupt(name, 'cannot be read', error);
    throw error;
  }
}

/** Opens a file for reading. Throws `CheckpointMissing` when it does not exist. */
export async function openFile(disk: Disk, path: string): Promise<DiskFile> {
  try {
    return await asCorrupt(path, () => disk.open(path));
  } catch (error) {
    if (isPaddletError(error) || !isAbsent(error)) throw error;
    throw new PaddletError('CheckpointMissing', `${path}: no such file`, { cause: error });
  }
}

export const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

/** Closes the file whatever happens. */
export async function withFile<T>(file: DiskFile, act: (file: DiskFile) => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await act(file);
  } catch (error) {
    // The first error says what went wrong; a close that fails after it adds nothing.
    await file.close().catch(() => undefined);
    throw error;
  }
  await file.close();
  return result;
}

/** Makes the folder and everything above it that is missing, each durable in the folder above. */
export async function makeDurableFolder(disk: Disk, path: string): Promise<void> {
  // The folder may exist and not be durable yet: its maker may have died before the sync.
  const unsure = [path];
  for (let above = dirname(path); !(await disk.exists(above)) && dirname(above) !== above; above = dirname(above)) {
    unsure.push(above);
  }
  await disk.makeFolder(path);
  for (const made of unsure.reverse()) await disk.syncFolder(dirname(made));
}

/** Unless something is in it, or it has to stay for another reason, as the root of a file system does. */
export async function removeEmptyFolder(disk: Disk, path: string): Promise<void> {
  try {
    await disk.removeFolder(path);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
}
