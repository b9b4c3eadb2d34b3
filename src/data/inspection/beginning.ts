/** The first bytes of a file's content: whole lines of at most 1 MiB, or all of it. */
import { NEWLINE } from '../ascii.ts';
import { contentBlocks, type Head } from '../content.ts';
import type { DataPlace } from '../place.ts';

const FIRST_BYTES = 1 << 20;

/** Throws as `openContent`. */
export async function beginningOf(place: DataPlace, path: string): Promise<Head> {
  const blocks: Uint8Array[] = [];
  let length = 0;
  let isWhole = true;
  for await (const block of contentBlocks(place, path)) {
    if (length >= FIRST_BYTES) {
      isWhole = false;
      break;
    }
    blocks.push(block);
    length += block.length;
  }
  const bytes = Buffer.concat(blocks);
  if (isWhole && length <= FIRST_BYTES) return { bytes, isWhole };
  const first = bytes.subarray(0, FIRST_BYTES);
  return { bytes: first.subarray(0, first.lastIndexOf(NEWLINE) + 1), isWhole: false };
}
