/** Reads a file by blocks, and keeps the last ones: the next member of a gzip file may begin in any of them. */
import type { DiskFile } from '../../base/seams.ts';

const BLOCK_BYTES = 1 << 20;
const KEPT_BLOCKS = 2;
const ZEROS = Buffer.alloc(BLOCK_BYTES);

export class FileBlocks {
  readonly #file: Pick<DiskFile, 'read'>;
  /** Keyed by offset; the last used block is last. */
  readonly #kept = new Map<number, Promise<Uint8Array>>();

  constructor(file: Pick<DiskFile, 'read'>) {
    this.#file = file;
  }

  /** The bytes from `start` to the end of the file. */
  async *from(start: number): AsyncGenerator<Uint8Array> {
    for (let at = start; ; ) {
      const base = at - (at % BLOCK_BYTES);
      const block = await this.#at(base);
      if (base + block.length > at) yield block.subarray(at - base);
      if (block.length < BLOCK_BYTES) return;
      at = base + BLOCK_BYTES;
    }
  }

  /** Where the zeros from `start` on end; undefined when only zeros follow, or nothing. */
  async afterZeros(start: number): Promise<number | undefined> {
    let at = start;
    for await (const block of this.from(start)) {
      if (!ZEROS.subarray(0, block.length).equals(block)) return at + block.findIndex((byte) => byte !== 0);
      at += block.length;
    }
    return undefined;
  }

  #at(base: number): Promise<Uint8Array> {
    const kept = this.#kept.get(base) ?? this.#read(base);
    kept.catch(() => this.#kept.delete(base));
    this.#kept.delete(base);
    this.#kept.set(base, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT_BLOCKS) this.#kept.delete(oldest!);
    return kept;
  }

  async #read(base: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(BLOCK_BYTES);
    return bytes.subarray(0, await this.#file.read(bytes, base));
  }
}
