/** What is appended to a file of text. */
import type { Disk } from '../../base/seams.ts';

const CHUNK_BYTES = 64 * 1024;

export class GrowingText {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #chunk = new Uint8Array(CHUNK_BYTES);
  readonly #decoder = new TextDecoder();
  #offset: number;

  constructor(disk: Disk, path: string, offset: number) {
    this.#disk = disk;
    this.#path = path;
    this.#offset = offset;
  }

  /** Empty when nothing was added, or there is no such file. */
  async next(): Promise<string> {
    if (!(await this.#disk.exists(this.#path))) return '';
    const file = await this.#disk.open(this.#path);
    try {
      const bytes = await file.read(this.#chunk, this.#offset);
      this.#offset += bytes;
      return this.#decoder.decode(this.#chunk.subarray(0, bytes), { stream: true });
    } finally {
      await file.close();
    }
  }
}
