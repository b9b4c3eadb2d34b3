/** Bytes that are read once, in order: a file or a pipe of any size. */
import { assert } from '../../base/assert.ts';
import type { ByteSource } from './slices.ts';

const NOTHING = new Uint8Array(0);

export class ForwardBytes implements ByteSource {
  readonly #blocks: AsyncIterator<Uint8Array>;
  /** What is not taken yet of the blocks that were read. */
  #held: Uint8Array = NOTHING;
  #isEnd = false;

  constructor(blocks: AsyncIterable<Uint8Array>) {
    this.#blocks = blocks[Symbol.asyncIterator]();
  }

  /** The next ones, which stay; fewer only at the end. */
  async peek(count: number): Promise<Uint8Array> {
    const parts = [this.#held];
    let length = this.#held.length;
    while (length < count && !this.#isEnd) {
      const { done, value } = await this.#blocks.next();
      if (done === true) this.#isEnd = true;
      else {
        parts.push(value);
        length += value.length;
      }
    }
    if (parts.length > 1) this.#held = Buffer.concat(parts);
    return this.#held.subarray(0, count);
  }

  /** The next ones; fewer only at the end. */
  async take(count: number): Promise<Uint8Array> {
    const bytes = await this.peek(count);
    this.#held = this.#held.subarray(bytes.length);
    return bytes;
  }

  async read(into: Uint8Array): Promise<number> {
    let filled = 0;
    while (filled < into.length && (this.#held.length > 0 || (await this.peek(1)).length > 0)) {
      const bytes = this.#held.subarray(0, into.length - filled);
      into.set(bytes, filled);
      filled += bytes.length;
      this.#held = this.#held.subarray(bytes.length);
    }
    return filled;
  }

  /** All that are not taken, as they come; then, or when its reader stops, what gives them is closed. */
  async *rest(): AsyncGenerator<Uint8Array> {
    try {
      if (this.#held.length > 0) yield this.#held;
      this.#held = NOTHING;
      while (!this.#isEnd) {
        const { done, value } = await this.#blocks.next();
        if (done === true) this.#isEnd = true;
        else yield value;
      }
    } finally {
      await this.close();
    }
  }

  /** What gives the bytes is no longer read. */
  async close(): Promise<void> {
    await this.#blocks.return?.();
  }
}

/** As a file that is read at one place after the other. */
export function inOrder(source: ForwardBytes): { read(into: Uint8Array, offset: number): Promise<number> } {
  let at = 0;
  return {
    async read(into, offset) {
      assert(offset === at, 'what is read follows what was read before');
      const got = await source.read(into);
      at += got;
      return got;
    },
  };
}
