/**
 * A storage on the disk of this machine. A file is written beside its place, under the name of its spool: synced, read
 * back, renamed. The folder is synced last.
 */
import { dirname } from 'node:path';
import { PaddletError } from '../base/errors.ts';
import { failPoint } from '../base/fail-points.ts';
import { digestOf, isAbsent, isFull, makeDurableFolder, removeEmptyFolder, withFile } from '../base/files.ts';
import type { Disk, DiskFile, FileDigest, Listed, Put, PutOptions, Storage, StoredFile } from '../base/seams.ts';

export const createStorage = (disk: Disk): Storage => ({
  put: (path, options) => put(disk, path, options),
  openRange: (path) => openRange(disk, path),
  list: (folder) => list(disk, folder),
  delete: (path) => (path.endsWith('/') ? removeEmptyFolder(disk, path.slice(0, -1)) : disk.remove(path)),
});

async function put<T extends { readonly bytes: number }>(
  disk: Disk,
  path: string,
  options: PutOptions<T>,
): Promise<Put<T>> {
  const { spool, isFolderKnown = false, replaces = false, signal } = options;
  if (!isFolderKnown) await makeDurableFolder(disk, dirname(path));
  let unwanted = [spool];
  try {
    const written = await withFile(await disk.create(spool), (file) => writeSynced(file, options));
    // The first bytes of a file may be the last that are written, so its MD5 needs a second pass. It also shows a disk
    // that does not return what was written to it.
    const digest = await readBack(disk, spool, { bytes: written.bytes, signal });
    failPoint('checkpoint.digested');
    await disk.rename(spool, path);
    // What was there before is lost then, and the new file is whole.
    unwanted = replaces ? [] : [path];
    failPoint('checkpoint.renamed');
    await disk.syncFolder(dirname(path));
    failPoint('checkpoint.folder-synced');
    return { written, digest };
  } catch (error) {
    await discard(disk, unwanted, error);
    throw error;
  }
}

async function writeSynced<T>(
  file: DiskFile,
  { write, onFull }: { readonly write: (file: DiskFile) => Promise<T>; readonly onFull?: PutOptions<never>['onFull'] },
): Promise<T> {
  failPoint('checkpoint.begun');
  try {
    const written = await write(file);
    await file.sync();
    failPoint('checkpoint.synced');
    return written;
  } catch (error) {
    if (isFull(error)) onFull?.(await file.size());
    throw error;
  }
}

interface Written {
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
}

const LOST = 'paddlet read back different bytes than it wrote: check the disk, or save elsewhere';

/** Reads back what was just written. A disk that lost it is for the operator to fix: no published file was damaged. */
async function readBack(disk: Disk, path: string, { bytes, signal }: Written): Promise<FileDigest> {
  const digest = await digestOfPath(disk, path, signal).catch((cause: NodeJS.ErrnoException) => {
    const notWritten = (message: string, hint: string): PaddletError =>
      new PaddletError('CheckpointNotWritten', `${path}: ${message}`, { hint, cause });
    if (cause.code === 'EIO') throw notWritten('cannot be read back', LOST);
    // The next owner of an index removes what an owner before it had not finished.
    if (isAbsent(cause)) {
      throw notWritten('no such file', 'another process removed the file: another pserver may now own the index');
    }
    throw cause;
  });
  if (digest.bytes === bytes) return digest;
  throw new PaddletError('CheckpointNotWritten', `${path}: wrote ${bytes} bytes, read back ${digest.bytes}`, {
    hint: LOST,
  });
}

/** With a signal here, where it can be ended; otherwise in another thread, if there is one. */
const digestOfPath = async (disk: Disk, path: string, signal: AbortSignal | undefined): Promise<FileDigest> =>
  disk.md5 === undefined || signal !== undefined
    ? withFile(await disk.open(path), (file) => digestOf(file, () => signal?.throwIfAborted()))
    : disk.md5(path);

/** Removes a file that is not whole. What cannot be removed now is an orphan. */
async function discard(disk: Disk, paths: readonly string[], reason: unknown): Promise<void> {
  for (const path of paths) {
    try {
      await disk.remove(path);
    } catch (error) {
      if (reason instanceof Error) reason.message += `; ${path} is left behind: ${(error as Error).message}`;
    }
  }
}

async function openRange(disk: Disk, path: string): Promise<StoredFile> {
  const kind = (await disk.inspect(path))?.kind;
  // Opening a pipe would wait for its writer.
  if (kind === 'other') throw Object.assign(new Error(`EINVAL: not a file: ${path}`), { code: 'EINVAL' });
  if (kind === 'folder') throw Object.assign(new Error(`EISDIR: a folder: ${path}`), { code: 'EISDIR' });
  const file = await disk.open(path);
  return {
    read: (into, offset) => file.read(into, offset),
    size: () => file.size(),
    close: () => file.close(),
    ...(disk.md5 === undefined ? {} : { md5: () => disk.md5!(path) }),
  };
}

async function list(disk: Disk, folder: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (const name of (await namesIn(disk, folder)).sort()) {
    const kind = (await disk.inspect(`${folder}/${name}`))?.kind;
    if (kind === 'file' || kind === 'folder') listed.push({ name, kind });
  }
  return listed;
}

async function namesIn(disk: Disk, folder: string): Promise<string[]> {
  try {
    return await disk.list(folder);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}
