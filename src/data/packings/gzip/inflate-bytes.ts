/** Inflates bytes up to where zlib wants no more: the end of the data, or of the input. */
import type { Gunzip, InflateRaw } from 'node:zlib';

/**
 * Yields what `zlib` makes of `input`, and returns how many bytes of it were taken. It is fed block by block, each when
 * the one before is done: Node would take what is written after the end of the data for the beginning of other data.
 * Throws what zlib and the input throw.
 */
export async function* inflateBytes(
  zlib: Gunzip | InflateRaw,
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

async function feed(zlib: Gunzip | InflateRaw, input: AsyncIterable<Uint8Array>): Promise<void> {
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
