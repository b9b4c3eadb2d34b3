/** Reads the lines of a file for a look at it. Nothing is written, not even to the cache. */
import { BOM, isBlank, markBytes, NEWLINE } from '../ascii.ts';
import { contentBlocks } from '../bytes/content.ts';
import { ForwardBytes } from '../bytes/forward.ts';
import { type LineRules, Slices } from '../bytes/slices.ts';
import type { DataPlace } from '../place.ts';

export interface LookedAt {
  readonly rules: LineRules;
  readonly onBytes?: ((count: number) => void) | undefined;
}

/** Opens the file for `read`, and closes it. Skips a byte order mark. Throws as `openContent`. */
export async function withSlices<T>(
  place: DataPlace,
  path: string,
  { rules, onBytes = () => {} }: LookedAt,
  read: (slices: Slices) => Promise<T>,
): Promise<T> {
  async function* blocks(): AsyncGenerator<Uint8Array> {
    for await (const block of contentBlocks(place, path)) {
      onBytes(block.length);
      yield block;
    }
  }
  const source = new ForwardBytes(blocks());
  try {
    const offset = markBytes(await source.peek(BOM.length));
    await source.take(offset);
    return await read(new Slices(source, { offset, line: 1, rules }));
  } finally {
    await source.close();
  }
}

/** Lines that are not blank, with their numbers. */
export function* linesIn(bytes: Uint8Array, firstLine: number): Generator<{ bytes: Uint8Array; line: number }> {
  let line = firstLine;
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    let at = start;
    while (at < end && isBlank(bytes[at]!)) at++;
    if (at < end) yield { bytes: bytes.subarray(start, end), line };
    start = end + 1;
  }
}
