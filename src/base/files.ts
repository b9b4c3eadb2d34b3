/** Opens, closes and digests files, whatever has them. */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Disk, FileDigest, StoredFile } from './seams.ts';

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | undefined)?.code;

export const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

/** No room is left, or none that this user may take. */
export const isFull = (error: unknown): boolean => codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT';

/** Closes the file whatever happens. */
export async function withFile<F extends Pick<StoredFile, 'close'>, T>(
  file: F,
  act: (file: F) => Promise<T>,
): Promise<T> {
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

/** Hashed in one go, while nothing is served. */
const CHUNK_BYTES = 1024 * 1024;

/** MD5 and size of the whole file, computed here. `onBytes` gets the bytes read so far. */
export async function digestOf(file: StoredFile, onBytes?: (bytesDone: number) => void): Promise<FileDigest> {
  const hash = createHash('md5');
  // At least one byte, to distinguish the end of the file from a full chunk.
  const chunk = new Uint8Array(Math.min(CHUNK_BYTES, (await file.size()) + 1));
  let bytes = 0;
  for (;;) {
    const count = await file.read(chunk, bytes);
    if (count === 0) return { md5: hash.digest('hex'), bytes };
    hash.update(chunk.subarray(0, count));
    bytes += count;
    onBytes?.(bytes);
  }
}
