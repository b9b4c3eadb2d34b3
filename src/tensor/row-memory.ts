/**
 * Memory for rows that are repeatedly copied out, written somewhere and forgotten. Fresh arrays would have to be
 * cleared, faulted in and collected each time, while pushes wait.
 */

export interface RowMemory {
  ids(length: number): BigUint64Array<ArrayBuffer>;
  floats(length: number): Float32Array<ArrayBuffer>;
  words(length: number): Uint32Array<ArrayBuffer>;
}

/** New arrays, for callers that keep them. */
export const FRESH_MEMORY: RowMemory = {
  ids: (length) => new BigUint64Array(length),
  floats: (length) => new Float32Array(length),
  words: (length) => new Uint32Array(length),
};

/** A chunk is twice as large as the one before it, so that a small model does not pay for the rows of a large one. */
const FIRST_CHUNK_BYTES = 16 * 1024;
const LARGEST_CHUNK_BYTES = 4 * 1024 * 1024;
const ALIGNMENT = 8;

/** Hands out pieces of chunks that it keeps. Their content is arbitrary. */
export class ReusedMemory implements RowMemory {
  readonly #chunks: ArrayBuffer[] = [];
  #chunk = 0;
  #used = 0;

  /** Everything that was handed out is free again. */
  reset(): void {
    this.#chunk = 0;
    this.#used = 0;
  }

  ids(length: number): BigUint64Array<ArrayBuffer> {
    const at = this.#take(length * BigUint64Array.BYTES_PER_ELEMENT);
    return new BigUint64Array(this.#chunks[this.#chunk]!, at, length);
  }

  floats(length: number): Float32Array<ArrayBuffer> {
    const at = this.#take(length * Float32Array.BYTES_PER_ELEMENT);
    return new Float32Array(this.#chunks[this.#chunk]!, at, length);
  }

  words(length: number): Uint32Array<ArrayBuffer> {
    const at = this.#take(length * Uint32Array.BYTES_PER_ELEMENT);
    return new Uint32Array(this.#chunks[this.#chunk]!, at, length);
  }

  #nextChunkBytes(): number {
    const last = this.#chunks.at(-1);
    return last === undefined ? FIRST_CHUNK_BYTES : Math.min(2 * last.byteLength, LARGEST_CHUNK_BYTES);
  }

  /** Offset of the next `bytes` bytes in the current chunk. */
  #take(bytes: number): number {
    while (this.#used + bytes > (this.#chunks[this.#chunk]?.byteLength ?? 0)) {
      const isPastLast = this.#chunk >= this.#chunks.length - 1;
      // A piece larger than a chunk gets one of its own, which stays.
      if (isPastLast) this.#chunks.push(new ArrayBuffer(Math.max(this.#nextChunkBytes(), bytes)));
      this.#chunk = isPastLast ? this.#chunks.length - 1 : this.#chunk + 1;
      this.#used = 0;
    }
    const begin = this.#used;
    this.#used = Math.ceil((begin + bytes) / ALIGNMENT) * ALIGNMENT;
    return begin;
  }
}
