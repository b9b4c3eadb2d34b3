import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat, statfs, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Disk, DiskFile, FileFacts } from '../base/seams.ts';
import { md5OfFile } from './md5.ts';

/** Files of the machine, through node:fs/promises. Errors are Node's own. */
export function createDisk(): Disk {
  return {
    makeFolder,
    // Truncates what a crashed process may have left under the same name.
    create: async (path) => fileOf(await open(path, 'w+')),
    open: async (path) => fileOf(await open(path, 'r')),
    rename: (from, to) => rename(from, to),
    syncFolder,
    remove: (path) => rm(path, { force: true }),
    removeFolder: (path) => rmdir(path),
    list: (path) => readdir(path),
    exists: async (path) => (await inspect(path)) !== undefined,
    inspect,
    touch,
    freeBytes,
    md5: md5OfFile,
  };
}

function fileOf(handle: FileHandle): DiskFile {
  return {
    write: (bytes, offset) => writeAll(handle, bytes, offset),
    read: (into, offset) => readFull(handle, into, offset),
    size: async () => (await handle.stat()).size,
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

/** One write call may take only part of the bytes (a signal, a nearly full disk, 2 GiB at a time on Linux). */
async function writeAll(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done);
    if (bytesWritten === 0)
      throw Object.assign(new Error('EIO: the disk accepted no more bytes, write'), { code: 'EIO' });
    done += bytesWritten;
  }
}

async function readFull(handle: FileHandle, into: Uint8Array, offset: number): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const left = into.length - done;
    // A pipe has no places: what comes next is read.
    const { bytesRead } = await handle.read(into, done, left, offset + done).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ESPIPE') throw error;
      return handle.read(into, done, left, null);
    });
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

/** Node's own `recursive` never returns where an existing folder takes no new one (below /proc, for example). */
async function makeFolder(path: string): Promise<void> {
  if (await madeOrExists(path)) return;
  const parent = dirname(path);
  if (parent !== path && (await inspect(parent)) === undefined) await makeFolder(parent);
  // Another process may have made the parent: what fails now fails for good.
  if (!(await madeOrExists(path)))
    throw Object.assign(new Error(`ENOENT: cannot make the folder ${path}`), { code: 'ENOENT', syscall: 'mkdir' });
}

/** False when the parent is missing. */
async function madeOrExists(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code === 'EEXIST' && (await inspect(path))?.kind === 'folder') return true;
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The free space where the nearest existing folder is: the path itself may not exist yet. */
async function freeBytes(path: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code === 'ENOENT' && dirname(path) !== path ? freeBytes(dirname(path)) : undefined;
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now);
}

async function inspect(path: string): Promise<FileFacts | undefined> {
  try {
    const found = await stat(path);
    const kind = found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other';
    return { kind, bytes: found.size, modifiedMs: found.mtimeMs, changedMs: found.ctimeMs, inode: found.ino };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
