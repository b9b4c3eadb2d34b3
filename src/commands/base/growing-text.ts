/** What is appended to a log: a file of text that gets a number when it is full, and is followed by a new one. */
import { dirname } from 'node:path';
import type { Disk } from '../../base/seams.ts';
import { numberedLog, numbersIn } from '../../host/log-file.ts';

const CHUNK_BYTES = 64 * 1024;

/** A place in a log: in the part with that number, or in the part that will get it. */
export interface LogPlace {
  readonly number: number;
  readonly offset: number;
}

interface Parts {
  /** Numbers of the full parts, ascending. */
  readonly numbers: readonly number[];
  /** Number that the current file will get. */
  readonly next: number;
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
      const at = placeIn(parts, this.#at);
      const isLast = at.number === parts.next;
      const read = await this.#read(isLast ? this.#path : numberedLog(this.#path, at.number), at.offset);
      // What was read may be of the file that came after it.
      if (isLast && (await partsOf(this.#disk, this.#path)).next !== parts.next) continue;
      // To its end, or it was removed since it was listed.
      if (!isLast && (read === undefined || read.bytes === 0)) {
        this.#at = { number: at.number + 1, offset: 0 };
        continue;
      }
      if (read === undefined) return '';
      // It was removed, and started again.
      if (read.size < at.offset && isLast) {
        this.#at = { number: at.number, offset: 0 };
        continue;
      }
      this.#at = { number: at.number, offset: at.offset + read.bytes };
      return this.#decoder.decode(this.#chunk.subarray(0, read.bytes), { stream: true });
    }
  }

  /** Undefined when there is no such file. */
  async #read(path: string, offset: number): Promise<{ readonly bytes: number; readonly size: number } | undefined> {
    const file = await this.#disk.open(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      return { bytes: await file.read(this.#chunk, offset), size: await file.size() };
    } finally {
      await file.close();
    }
  }
}

/** Where to read: at the oldest entry that there is, if those in between were removed or nothing was read before. */
function placeIn({ numbers, next }: Parts, at: LogPlace | undefined): LogPlace {
  const oldest = numbers[0] ?? next;
  return at === undefined || at.number < oldest || at.number > next ? { number: oldest, offset: 0 } : at;
}

/** Where the last `bytes` of a log begin; undefined when that is all that it has. */
export async function lastOf(disk: Disk, path: string, bytes: number): Promise<LogPlace | undefined> {
  const { numbers, next } = await partsOf(disk, path);
  let left = bytes;
  for (const number of [...numbers, next].reverse()) {
    const size = (await disk.inspect(number === next ? path : numberedLog(path, number)))?.bytes ?? 0;
    if (size > left) return { number, offset: size - left };
    left -= size;
  }
  return undefined;
}

/** A file that has a number and its name yet, for a moment, is the one of the number. */
async function partsOf(disk: Disk, path: string): Promise<Parts> {
  const folder = dirname(path);
  const numbers = (await disk.exists(folder)) ? numbersIn(path, await disk.list(folder)) : [];
  const last = numbers.at(-1);
  if (last === undefined) return { numbers, next: 1 };
  const [numbered, named] = [await disk.inspect(numberedLog(path, last)), await disk.inspect(path)];
  const isSame = numbered !== undefined && named !== undefined && numbered.inode === named.inode;
  return isSame ? { numbers: numbers.slice(0, -1), next: last } : { numbers, next: last + 1 };
}
