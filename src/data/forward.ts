/** Bytes that are read once, in order: a file or a pipe of any size, packed as gzip or not. */
import { assert } from '../base/assert.ts';
import { beginsAsGzip, inflateForward } from './gzip-inflate.ts';
import { LOOK_BYTES, refusePacked } from './packed.ts';

const NOTHING = new Uint8Array(0);

export class ForwardBytes {
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
}

/** The content of what these blocks are. Throws `DataInvalid` for what is packed otherwise than as gzip. */
export async function openForward(path: string, blocks: AsyncIterable<Uint8Array>): Promise<ForwardBytes> {
  const raw = new ForwardBytes(blocks);
  const isGzip = beginsAsGzip(await raw.peek(3));
  const content = isGzip ? new ForwardBytes(inflateForward(path, inOrder(raw))) : raw;
  refusePacked(path, await content.peek(LOOK_BYTES));
  return content;
}

/** As a file that is read at one place after the other. */
function inOrder(source: ForwardBytes): { read(into: Uint8Array, offset: number): Promise<number> } {
  let at = 0;
  return {
    async read(into, offset) {
      assert(offset === at, 'what is read follows what was read before');
      const bytes = await source.take(into.length);
      into.set(bytes);
      at += bytes.length;
      return bytes.length;
    },
  };
}
