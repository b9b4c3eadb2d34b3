/** Inflates bytes up to where zlib wants no more: the end of the data, or of the input. */
import type { Gunzip, InflateRaw, ZstdDecompress } from 'node:zlib';
import type { FileBlocks } from '../file-blocks.ts';

export const OUTPUT_BYTES = 1 << 18;

type Decompressor = Gunzip | InflateRaw | ZstdDecompress;

export interface Parts {
  readonly create: () => Decompressor;
  /** Where the next part begins, when one has ended; undefined when nothing follows. */
  readonly next: (ended: number, inflated: number) => Promise<number | undefined>;
  /**
   * Replaces an error that was thrown in a part that begins at byte `start`, after `inflated` bytes were decompressed.
   */
  readonly explain: (cause: NodeJS.ErrnoException, start: number, inflated: number) => Promise<Error>;
}

/** Yields what is in parts that follow one another: what zlib takes for the end may be the end of one of them. */
export async function* inflateParts(blocks: FileBlocks, { create, next, explain }: Parts): AsyncGenerator<Uint8Array> {
  let inflated = 0;
  for (let start = 0; ; ) {
    const bytes = inflateBytes(create(), blocks.from(start));
    try {
      let block = await bytes.next();
      while (block.done !== true) {
        inflated += block.value.length;
        yield block.value;
        block = await bytes.next();
      }
      const following = await next(start + block.value, inflated);
      if (following === undefined) return;
      start = following;
    } catch (cause) {
      throw await explain(cause as NodeJS.ErrnoException, start, inflated);
    } finally {
      await bytes.return(0);
    }
  }
}

/**
 * Yields what `zlib` makes of `input`, and returns how many bytes of it were taken. It is fed block by block, each when
 * the one before is done: Node would take what is written after the end of the data for the beginning of other data.
 * Throws what zlib and the input throw.
 */
export async function* inflateBytes(
  zlib: Decompressor,
  input: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, number> {
  feed(zlib, input).catch((error: Error) => zlib.destroy(error));
  try {
    for await (const block of zlib as AsyncIterable<Uint8Array>) yield block;
    return zlib.bytesWritten;
  } finally {
    zlib.destroy();
  }
}

async function feed(zlib: Decompressor, input: AsyncIterable<Uint8Array>): Promise<void> {
  let fed = 0;
  for await (const block of input) {
    fed += block.length;
    await new Promise<void>((resolve, reject) => {
      zlib.write(block, (error) => (error ? reject(error) : resolve()));
    });
    if (zlib.bytesWritten < fed) return;
  }
  zlib.end();
}
