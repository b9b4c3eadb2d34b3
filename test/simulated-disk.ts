/**
 * A disk in memory that behaves like the worst one allowed: what was not synced may be lost at a crash, in any order,
 * and a write may be torn. Errors are Node's own. `crashAt` stops the machine at a chosen operation.
 */
import { dirname } from 'node:path';
import type { Disk, DiskFile, FileFacts } from '../src/base/seams.ts';
import { createStorage } from '../src/host/storage.ts';
import {
  applyChange,
  cloneFolders,
  createInode,
  type Entry,
  type FolderChange,
  type Folders,
  type Inode,
  survivors,
  writeInto,
} from './simulated-disk-contents.ts';
import { failure, SimulatedFaults } from './simulated-faults.ts';

const split = (path: string): { folder: string; name: string } => ({
  folder: dirname(path),
  name: path.slice(path.lastIndexOf('/') + 1),
});

export const createSimulatedDisk = (): SimulatedDisk => new SimulatedDisk(new Map([['/', new Map()]]));

export class SimulatedDisk implements Disk {
  /** Whose files are on this disk. */
  readonly storage = createStorage(this);
  readonly #durable: Folders;
  readonly #live: Folders;
  #changes: FolderChange[] = [];
  #capacity = Number.MAX_SAFE_INTEGER;
  #ticks = 0;
  readonly #faults = new SimulatedFaults();

  constructor(durable: Folders) {
    this.#durable = durable;
    this.#live = cloneFolders(durable);
  }

  /** Stops everything at that operation (counted from 0), before it takes effect or just after. */
  crashAt(operation: number, when: 'before' | 'after'): void {
    this.#faults.crashAt(operation, when);
  }

  /** Operations so far that change or sync something. */
  get operations(): number {
    return this.#faults.operations;
  }

  /** Bytes that files may hold together; more is `ENOSPC`. */
  setCapacity(bytes: number): void {
    this.#capacity = bytes;
  }

  /** Leaves room for so many bytes more than there are now. */
  fillUp(spareBytes: number): void {
    this.setCapacity(this.#usedBytes() + spareBytes);
  }

  /** The next call of that kind fails with this code and does nothing. */
  failNext(call: keyof Disk | keyof DiskFile, code: string): void {
    this.#faults.failNext(call, code);
  }

  /** Changes a byte that was stored, as a bad sector would. */
  flip(path: string, offset: number, mask = 0x01): void {
    const inode = this.#fileAt(path);
    inode.bytes[offset]! ^= mask;
    inode.durable[offset]! ^= mask;
  }

  /** The whole content of a file, or undefined. */
  content(path: string): Uint8Array | undefined {
    const found = this.#lookup(path);
    return found === undefined || found === 'folder' ? undefined : found.bytes.slice(0, found.size);
  }

  /** What is in a folder; nothing when it does not exist. */
  names(folder: string): string[] {
    return [...(this.#live.get(folder)?.keys() ?? [])];
  }

  /** Puts a file there, durable, with all that was changed before. */
  place(path: string, bytes: Uint8Array): void {
    const { folder, name } = split(path);
    this.#makeOne(folder);
    this.#change({ type: 'add', folder, name, entry: createInode(bytes, ++this.#ticks) });
    for (const change of this.#changes) applyChange(this.#durable, change);
    this.#changes = [];
  }

  /** What the machine finds when it starts again. `fraction`, in [0, 1), decides what of the unsynced was stored. */
  afterCrash(fraction: () => number): SimulatedDisk {
    this.#faults.isCrashed = true;
    for (const change of this.#changes) if (fraction() < 0.5) applyChange(this.#durable, change);
    return new SimulatedDisk(survivors(this.#durable, fraction));
  }

  makeFolder(path: string): Promise<void> {
    return this.#operate('makeFolder', path, () => this.#makeOne(path));
  }

  create(path: string): Promise<DiskFile> {
    return this.#operate('create', path, () => {
      const { folder, name } = split(path);
      this.#folderAt(folder);
      const inode = createInode(new Uint8Array(0), ++this.#ticks);
      this.#change({ type: 'add', folder, name, entry: inode });
      return this.#fileOf(inode, path);
    });
  }

  async open(path: string): Promise<DiskFile> {
    await this.#arrive('open', path);
    return this.#fileOf(this.#fileAt(path), path);
  }

  rename(from: string, to: string): Promise<void> {
    return this.#operate('rename', from, () => {
      const source = split(from);
      const { folder, name } = split(to);
      if (source.folder !== folder) throw failure('EXDEV', to);
      this.#change({ type: 'rename', folder, from: source.name, name, entry: this.#fileAt(from) });
    });
  }

  syncFolder(path: string): Promise<void> {
    return this.#operate('syncFolder', path, () => {
      this.#folderAt(path);
      for (const change of this.#changes) if (change.folder === path) applyChange(this.#durable, change);
      this.#changes = this.#changes.filter((change) => change.folder !== path);
    });
  }

  remove(path: string): Promise<void> {
    return this.#operate('remove', path, () => {
      const { folder, name } = split(path);
      if (this.#lookup(path) !== undefined) this.#change({ type: 'remove', folder, name });
    });
  }

  removeFolder(path: string): Promise<void> {
    return this.#operate('removeFolder', path, () => {
      if (this.#folderAt(path).size > 0) throw failure('ENOTEMPTY', path);
      const { folder, name } = split(path);
      this.#live.delete(path);
      this.#change({ type: 'remove', folder, name });
    });
  }

  async list(path: string): Promise<string[]> {
    await this.#arrive('list', path);
    return [...this.#folderAt(path).keys()];
  }

  async exists(path: string): Promise<boolean> {
    await this.#arrive('exists', path);
    return this.#lookup(path) !== undefined;
  }

  async inspect(path: string): Promise<FileFacts | undefined> {
    await this.#arrive('inspect', path);
    const found = this.#lookup(path);
    if (found === undefined) return undefined;
    if (found === 'folder') return { kind: 'folder', bytes: 0, modifiedMs: 0, changedMs: 0, inode: 0 };
    const { size, modifiedMs, inode } = found;
    return { kind: 'file', bytes: size, modifiedMs, changedMs: modifiedMs, inode };
  }

  touch(path: string): Promise<void> {
    return this.#operate('touch', path, () => {
      this.#fileAt(path).modifiedMs = ++this.#ticks;
    });
  }

  async freeBytes(path: string): Promise<number> {
    await this.#arrive('freeBytes', path);
    return Math.max(0, this.#capacity - this.#usedBytes());
  }

  /** Asynchronous like a real disk, so that others come in between. */
  async #arrive(call: string, path: string): Promise<void> {
    await Promise.resolve();
    this.#faults.check(call, path);
  }

  async #operate<T>(call: string, path: string, act: () => T): Promise<T> {
    await this.#arrive(call, path);
    return this.#faults.operate(call, path, act);
  }

  #fileOf(inode: Inode, path: string): DiskFile {
    return {
      write: (bytes, offset) => this.#operate('write', path, () => this.#write(inode, path, bytes, offset)),
      read: async (into, offset) => {
        await this.#arrive('read', path);
        const part = inode.bytes.subarray(offset, Math.max(offset, Math.min(inode.size, offset + into.length)));
        into.set(part);
        return part.length;
      },
      size: async () => {
        await this.#arrive('size', path);
        return inode.size;
      },
      sync: () =>
        this.#operate('sync', path, () => {
          inode.durable = inode.bytes.slice(0, inode.size);
          inode.pending = [];
        }),
      close: () => this.#arrive('close', path),
    };
  }

  /** A full disk takes what there is room for, then fails. */
  #write(inode: Inode, path: string, bytes: Uint8Array, offset: number): void {
    const grows = Math.max(0, offset + bytes.length - inode.size);
    const lacking = Math.max(0, grows - (this.#capacity - this.#usedBytes()));
    const part = bytes.slice(0, Math.max(0, bytes.length - lacking));
    writeInto(inode, part, offset);
    inode.modifiedMs = ++this.#ticks;
    inode.pending.push({ offset, bytes: part });
    if (part.length < bytes.length) throw failure('ENOSPC', path);
  }

  #usedBytes(): number {
    let used = 0;
    for (const entries of this.#live.values()) {
      for (const entry of entries.values()) if (entry !== 'folder') used += entry.size;
    }
    return used;
  }

  #change(change: FolderChange): void {
    applyChange(this.#live, change);
    this.#changes.push(change);
  }

  #makeOne(path: string): void {
    if (this.#live.has(path)) return;
    const { folder, name } = split(path);
    this.#makeOne(folder);
    this.#live.set(path, new Map());
    this.#change({ type: 'add', folder, name, entry: 'folder' });
  }

  #lookup(path: string): Entry | undefined {
    if (path === '/') return 'folder';
    const { folder, name } = split(path);
    return this.#live.get(folder)?.get(name);
  }

  #folderAt(path: string): Map<string, Entry> {
    const found = this.#live.get(path);
    if (found === undefined) throw failure(this.#lookup(path) === undefined ? 'ENOENT' : 'ENOTDIR', path);
    return found;
  }

  #fileAt(path: string): Inode {
    const found = this.#lookup(path);
    if (found === undefined) throw failure('ENOENT', path);
    if (found === 'folder') throw failure('EISDIR', path);
    return found;
  }
}
