/** Opens files of a storage, and tells damage to a file from a failure of the machine. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { isAbsent, withFile } from '../../base/files.ts';
import type { Storage, StoredFile } from '../../base/seams.ts';

export const corrupt = (file: string, message: string, cause?: unknown): PaddletError =>
  new PaddletError('CheckpointCorrupt', `${file}: ${message}`, cause === undefined ? {} : { cause });

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | undefined)?.code;

/** A sector that cannot be read is damage to the file; other failures are the machine's and pass through. */
export async function asCorrupt<T>(name: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (codeOf(error) === 'EINVAL') throw corrupt(name, 'expected a file or a folder', error);
    if (codeOf(error) === 'EIO' || codeOf(error) === 'EISDIR') throw corrupt(name, 'cannot be read', error);
    throw error;
  }
}

/** Opens a file for reading. Throws `CheckpointMissing` when it does not exist. */
export async function openFile(storage: Storage, path: string): Promise<StoredFile> {
  try {
    return await asCorrupt(path, () => storage.openRange(path));
  } catch (error) {
    if (isPaddletError(error) || !isAbsent(error)) throw error;
    throw new PaddletError('CheckpointMissing', `${path}: no such file`, { details: { path }, cause: error });
  }
}

/** What is thrown for a folder where a file is expected. */
export const isFolder = (error: unknown): boolean => codeOf(error) === 'EISDIR';

/** Length of a file; undefined when it does not exist. */
export async function bytesOfFile(storage: Storage, path: string): Promise<number | undefined> {
  try {
    return await withFile(await openFile(storage, path), (file) => file.size());
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing')) return undefined;
    throw error;
  }
}
