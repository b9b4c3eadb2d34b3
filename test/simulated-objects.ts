/**
 * An object store in memory, at its worst: a file appears whole or not at all, an answer may be lost after the file has
 * appeared, calls take as long as they like, and there are no folders. It takes the calls of a simulated disk by which
 * tests prepare, damage and stop it.
 */

import { digestOf } from '../src/base/files.ts';
import type { DiskFile, Listed, Put, PutOptions, Storage, StoredFile } from '../src/base/seams.ts';
import type { SimulatedDisk } from './simulated-disk.ts';
import { failure, SimulatedFaults } from './simulated-faults.ts';

/** What tests of checkpoints do to files, whatever keeps them. */
export type StoredFiles = Pick<
  SimulatedDisk,
  'storage' | 'operations' | 'crashAt' | 'setCapacity' | 'flip' | 'content' | 'names' | 'place' | 'failNext'
> & {
  afterCrash(fraction: () => number): StoredFiles;
  list(path: string): Promise<string[]>;
  exists(path: string): Promise<boolean>;
  remove(path: string): Promise<void>;
};

/** `npm test` runs the tests of test/checkpoint with both. */
export const usesObjects = process.env.PADDLET_TEST_STORAGE === 'objects';

/** What is sent at a time: a crash may come between two parts. */
const PART_BYTES = 512;

/** Failures of a disk after which a put has failed, too: with these the file has appeared, and the answer is lost. */
const LOST_ANSWERS = ['rename', 'syncFolder', 'close'] as const;
const REFUSALS = ['makeFolder', 'create', 'sync'] as const;

export class SimulatedObjects implements StoredFiles {
  readonly storage: Storage;
  readonly #objects: Map<string, Uint8Array<ArrayBuffer>>;
  readonly #faults = new SimulatedFaults();
  #capacity = Number.MAX_SAFE_INTEGER;
  #turns = 0;

  constructor(objects: ReadonlyMap<string, Uint8Array<ArrayBuffer>> = new Map()) {
    this.#objects = new Map(objects);
    this.storage = {
      put: (path, options) => this.#put(path, options),
      openRange: (path) => this.#openRange(path),
      list: (folder) => this.#list(folder),
      delete: (path) => this.#operate('remove', path, () => void this.#objects.delete(path)),
    };
  }

  get operations(): number {
    return this.#faults.operations;
  }

  crashAt(operation: number, when: 'before' | 'after'): void {
    this.#faults.crashAt(operation, when);
  }

  setCapacity(bytes: number): void {
    this.#capacity = bytes;
  }

  failNext(call: Parameters<SimulatedDisk['failNext']>[0], code: string): void {
    this.#faults.failNext(call, code);
  }

  flip(path: string, offset: number, mask = 0x01): void {
    this.#at(path)[offset]! ^= mask;
  }

  content(path: string): Uint8Array | undefined {
    return this.#objects.get(path)?.slice();
  }

  names(folder: string): string[] {
    return this.#listed(folder).map(({ name }) => name);
  }

  place(path: string, bytes: Uint8Array): void {
    this.#objects.set(path, new Uint8Array(bytes));
  }

  /** The store lives on; only its client has died. */
  afterCrash(): SimulatedObjects {
    this.#faults.isCrashed = true;
    return new SimulatedObjects(this.#objects);
  }

  list = async (path: string): Promise<string[]> => this.names(path);
  exists = async (path: string): Promise<boolean> => this.#objects.has(path) || this.names(path).length > 0;
  remove = (path: string): Promise<void> => this.storage.delete(path);

  async #put<T extends { readonly bytes: number }>(path: string, { write, signal }: PutOptions<T>): Promise<Put<T>> {
    const spool = this.#spool(path);
    for (const call of REFUSALS) await this.#arrive(call, path);
    const written = await write(spool);
    const digest = await digestOf(spool, () => signal?.throwIfAborted());
    for (let sent = 0; sent < digest.bytes; sent += PART_BYTES) await this.#operate('send', path, () => undefined);
    try {
      await this.#operate('put', path, () => void this.#objects.set(path, spool.content()));
      for (const call of LOST_ANSWERS) await this.#arrive(call, path);
      return { written, digest };
    } catch (error) {
      await this.storage.delete(path).catch((left: Error) => {
        if (!this.#faults.isCrashed) (error as Error).message += `; ${path} is left behind: ${left.message}`;
      });
      throw error;
    }
  }

  /** On the disk of this machine, of which a crash leaves nothing. */
  #spool(path: string): DiskFile & { content(): Uint8Array<ArrayBuffer> } {
    let bytes = new Uint8Array(0);
    const used = (): number => this.#objects.values().reduce((sum, { length }) => sum + length, 0);
    const grow = (end: number): void => {
      const grown = new Uint8Array(end);
      grown.set(bytes);
      bytes = grown;
    };
    return {
      content: () => bytes,
      write: (part, offset) =>
        this.#operate('write', path, () => {
          const room = Math.max(bytes.length, this.#capacity - used());
          const taken = part.subarray(0, Math.max(0, room - offset));
          if (offset + taken.length > bytes.length) grow(offset + taken.length);
          bytes.set(taken, offset);
          if (taken.length < part.length) throw failure('ENOSPC', path);
        }),
      ...this.#reader(path, () => bytes),
      sync: async () => undefined,
    };
  }

  #reader(path: string, bytes: () => Uint8Array): StoredFile {
    return {
      read: async (into, offset) => {
        await this.#arrive('read', path);
        const part = bytes().subarray(offset, offset + into.length);
        into.set(part);
        return part.length;
      },
      size: async () => bytes().length,
      close: async () => undefined,
    };
  }

  async #openRange(path: string): Promise<StoredFile> {
    await this.#arrive('open', path);
    this.#at(path);
    return this.#reader(path, () => this.#at(path));
  }

  async #list(folder: string): Promise<Listed[]> {
    await this.#arrive('list', folder);
    return this.#listed(folder);
  }

  #listed(folder: string): Listed[] {
    const kinds = new Map<string, Listed['kind']>();
    const prefix = `${folder}/`;
    for (const path of this.#objects.keys()) {
      if (!path.startsWith(prefix)) continue;
      const [name, ...below] = path.slice(prefix.length).split('/');
      kinds.set(name!, below.length > 0 ? 'folder' : 'file');
    }
    return [...kinds].map(([name, kind]) => ({ name, kind })).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #at(path: string): Uint8Array {
    const found = this.#objects.get(path);
    if (found === undefined) throw failure('ENOENT', path);
    return found;
  }

  async #arrive(call: string, path: string): Promise<void> {
    // Others come in between, now more of them and now fewer.
    this.#turns = (this.#turns * 5 + 3) % 16;
    for (let turns = this.#turns; turns >= 0; turns--) await Promise.resolve();
    this.#faults.check(call, path);
  }

  async #operate<T>(call: string, path: string, act: () => T): Promise<T> {
    await this.#arrive(call, path);
    return this.#faults.operate(call, path, act);
  }
}
