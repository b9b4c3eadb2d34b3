/**
 * Parsed tasks kept as files in the data cache, one a task, shared by all processes that use the folder. A file is
 * found by what it was made of, and counts only while the data files are the ones that it was made from. It never fails
 * a task: what cannot be read or written is parsed from the data again. The last ones stay in memory.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isPaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DataPlace } from '../place.ts';
import { giveBack } from '../spare-memory.ts';
import type { ParsedBlock } from './block.ts';
import { BlockMemory } from './block-memory.ts';
import { KeptBytes } from './kept-bytes.ts';
import { decodeBlock, encodeBlock, type KeptBlock, type SourceFacts } from './layout.ts';
import { BLOCK_VERSION, HEADER_BYTES } from './sections.ts';

/** Counts the time that a block which is found takes the thread. */
export interface LoadTimes {
  during<T>(what: 'read', work: () => T): T;
}

export interface ParsedCacheOptions {
  /** Most bytes of all files together. */
  readonly bytes: number;
  /** Reads the cache, but does not write to it. */
  readonly isReadOnly?: boolean;
}

export class ParsedCache {
  readonly folder: string;
  readonly #place: DataPlace;
  readonly #options: ParsedCacheOptions;
  readonly #kept: KeptBytes;
  /** Keys that this process has marked as used. */
  readonly #used = new Set<string>();
  readonly #memory = new BlockMemory(LIMITS.parsedMemoryBytes);
  #canWrite = true;
  #hasWarned = false;

  constructor(place: DataPlace, options: ParsedCacheOptions) {
    this.folder = join(place.cacheFolder, 'parsed');
    this.#place = place;
    this.#options = options;
    this.#kept = new KeptBytes(place, this.folder, options.bytes);
  }

  /** The block with that key and number of records, if it was made from these files as they are now. */
  async load(
    key: Buffer,
    records: number,
    sources: readonly SourceFacts[],
    times?: LoadTimes,
  ): Promise<ParsedBlock | undefined> {
    const name = key.toString('latin1');
    const inMemory = this.#memory.get(name);
    if (inMemory !== undefined && areSame(inMemory.sources, sources)) return inMemory.block;
    const path = this.#pathOf(key);
    let bytes: Buffer | undefined;
    try {
      bytes = await this.#read(path);
    } catch (error) {
      this.#warn('parsed tasks cannot be read from the data cache', path, error as Error);
    }
    if (bytes === undefined) return undefined;
    try {
      const found = bytes;
      const decode = (): KeptBlock => decodeBlock(key, found);
      const kept = times === undefined ? decode() : times.during('read', decode);
      if (kept.block.records !== records || !areSame(kept.sources, sources)) return undefined;
      await this.#touch(name, path);
      this.#memory.put(name, kept, bytes.length);
      return kept.block;
    } catch (error) {
      if (!isPaddletError(error, 'DataInvalid')) throw error;
      this.#place.host.log.warn('a parsed task in the data cache is damaged; paddlet parses it again', {
        path,
        reason: error.message,
      });
      return undefined;
    }
  }

  /** Keeps the block, unless it is too large, or the disk takes no more. Copies the block before it returns. */
  async save(key: Buffer, block: ParsedBlock, sources: readonly SourceFacts[]): Promise<void> {
    const { bytes: mostOfAll, isReadOnly = false } = this.#options;
    const most = Math.min(LIMITS.parsedBlockBytes, mostOfAll);
    if (isReadOnly || !this.#canWrite || arrayBytes(block) > most) return;
    const bytes = encodeBlock(key, { block, sources });
    try {
      if (bytes.length > most) return;
      await this.#place.host.disk.makeFolder(this.folder);
      if (await this.#kept.makeRoom(bytes.length)) await this.#write(this.#pathOf(key), bytes);
      else throw new Error(`less than ${LIMITS.keptFreeBytes} bytes are free`);
    } catch (error) {
      this.#canWrite = false;
      this.#warn('paddlet stops keeping parsed tasks in the data cache', this.folder, error as Error);
    } finally {
      giveBack(bytes.buffer);
    }
  }

  #pathOf(key: Buffer): string {
    return join(this.folder, `${key.toString('hex', 0, 16)}.block`);
  }

  async #read(path: string): Promise<Buffer | undefined> {
    const { disk } = this.#place.host;
    const file = await disk.open(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      const size = await file.size();
      // A file that is shorter or longer is not a block of this program.
      const room = Math.min(Math.max(size, HEADER_BYTES), LIMITS.parsedBlockBytes);
      const bytes = Buffer.allocUnsafeSlow(room);
      return bytes.subarray(0, await file.read(bytes, 0));
    } finally {
      await file.close();
    }
  }

  /** Written under a separate name, then renamed: under the final name a file is whole, even if others write it too. */
  async #write(path: string, bytes: Buffer): Promise<void> {
    const { disk, random } = this.#place.host;
    const partial = `${path}.${random.uuid()}.partial`;
    try {
      const file = await disk.create(partial);
      try {
        await file.write(bytes, 0);
      } finally {
        await file.close();
      }
      await disk.rename(partial, path);
    } catch (error) {
      await disk.remove(partial).catch(() => {});
      throw error;
    }
  }

  /** Used just now: others go first when there are too many. Once for each process is enough to tell jobs apart. */
  async #touch(name: string, path: string): Promise<void> {
    if (this.#used.has(name)) return;
    this.#used.add(name);
    // In a folder that cannot be written nothing is removed either.
    await this.#place.host.disk.touch(path).catch(() => {});
  }

  #warn(message: string, path: string, { message: reason }: Error): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#place.host.log.warn(message, { path, reason });
  }
}

export interface BlockIdentity {
  readonly format: string;
  readonly parserVersion: number;
  readonly labels: unknown;
  readonly batchSize: number;
  /** How columns are read, and which records: undefined where there are no columns, and all records are read. */
  readonly how?: unknown;
  /** For each chunk: where its data is, by name and by absolute path, and its numbers. */
  readonly chunks: readonly (readonly (string | number)[])[];
}

/** SHA-256 of everything that a block depends on but for the time and the place on disk of the data. */
export function blockKey({ format, parserVersion, labels, batchSize, how, chunks }: BlockIdentity): Buffer {
  const asHow = how === undefined ? [] : [how];
  const all = ['paddlet block', BLOCK_VERSION, format, parserVersion, labels, batchSize, ...asHow, chunks];
  return createHash('sha256').update(JSON.stringify(all)).digest();
}

/** Bytes of its large arrays. */
const arrayBytes = ({ labels, weights, groups, sparse, dense }: ParsedBlock): number =>
  [
    ...[labels, weights, groups, dense?.values],
    ...sparse.flatMap(({ offsets, rows, values, fields, ids }) => [offsets, rows, values, fields, ids]),
  ].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);

const areSame = (a: readonly SourceFacts[], b: readonly SourceFacts[]): boolean =>
  a.length === b.length && a.every((one, at) => isSameFile(one, b[at]!));

export const isSameFile = (a: SourceFacts, b: SourceFacts): boolean =>
  a.bytes === b.bytes && a.modifiedMs === b.modifiedMs && a.changedMs === b.changedMs && a.inode === b.inode;
