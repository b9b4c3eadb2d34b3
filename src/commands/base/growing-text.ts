/** What is appended to a log: a file of text that is renamed when it is full, and followed by a new one. */
import { LIMITS } from '../../base/limits.ts';
import type { Disk } from '../../base/seams.ts';
import { agedLog } from '../../host/log-file.ts';

const CHUNK_BYTES = 64 * 1024;

/** Of a log: by the file itself, whose name changes. */
export interface LogPlace {
  readonly inode: number;
  readonly offset: number;
}

interface LogPart {
  readonly path: string;
  readonly inode: number;
  readonly bytes: number;
}

export class GrowingText {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #chunk = new Uint8Array(CHUNK_BYTES);
  readonly #decoder = new TextDecoder();
  #at: LogPlace | undefined;

  /** `from`: the oldest entry without it. */
  constructor(disk: Disk, path: string, from?: LogPlace) {
    this.#disk = disk;
    this.#path = path;
    this.#at = from;
  }

  /** Empty when nothing was added, or there is no such file. */
  async next(): Promise<string> {
    for (;;) {
      const parts = await partsOf(this.#disk, this.#path);
      const known = parts.findIndex(({ inode }) => inode === this.#at?.inode);
      const index = Math.max(0, known);
      const part = parts[index];
      if (part === undefined) return '';
      // Its file was removed, or cut, or its inode belongs to another one now: all that there is now is new.
      const isKnown = known >= 0 && this.#at !== undefined && this.#at.offset <= part.bytes;
      const offset = isKnown ? this.#at!.offset : 0;
      const bytes = await this.#read(part, offset);
      if (bytes === undefined) continue;
      const next = parts[index + 1];
      // Nothing is added to a file that another one follows, and this one was read after the other one was seen.
      if (bytes === 0 && next !== undefined) {
        this.#at = { inode: next.inode, offset: 0 };
        continue;
      }
      this.#at = { inode: part.inode, offset: offset + bytes };
      return this.#decoder.decode(this.#chunk.subarray(0, bytes), { stream: true });
    }
  }

  /** Undefined when the path is that of another file now. */
  async #read({ path, inode }: LogPart, offset: number): Promise<number | undefined> {
    const file = await this.#disk.open(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      if ((await this.#disk.inspect(path))?.inode !== inode) return undefined;
      return await file.read(this.#chunk, offset);
    } finally {
      await file.close();
    }
  }
}

/** Where the last `bytes` of a log begin; undefined when that is all that it has. */
export async function lastOf(disk: Disk, path: string, bytes: number): Promise<LogPlace | undefined> {
  let left = bytes;
  for (const part of (await partsOf(disk, path)).reverse()) {
    if (part.bytes > left) return { inode: part.inode, offset: part.bytes - left };
    left -= part.bytes;
  }
  return undefined;
}

/** The oldest first. Looked at from the newest: a file that is renamed in between is found twice, none is missed. */
async function partsOf(disk: Disk, path: string): Promise<LogPart[]> {
  const parts: LogPart[] = [];
  for (let age = 0; age <= LIMITS.oldLogFiles; age++) {
    const aged = agedLog(path, age);
    const facts = await disk.inspect(aged);
    if (facts === undefined || parts.some(({ inode }) => inode === facts.inode)) continue;
    parts.unshift({ path: aged, inode: facts.inode, bytes: facts.bytes });
  }
  return parts;
}
