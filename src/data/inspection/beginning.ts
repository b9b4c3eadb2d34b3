/** The first bytes of a file's content. */
import { NEWLINE } from '../ascii.ts';
import { contentBlocks, type Head } from '../bytes/content.ts';
import { LOOK_BYTES } from '../bytes/packed.ts';
import type { DataPlace } from '../place.ts';

const FIRST_BYTES = 1 << 20;

/** Whole lines of at most 1 MiB, or all of it. */
export interface Beginning extends Head {
  /** What it begins with, whether or not a line ends there. */
  readonly magic: Uint8Array;
}

/** Throws as `openContent`. */
export async function beginningOf(place: DataPlace, path: string): Promise<Beginning> {
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
  const magic = bytes.subarray(0, LOOK_BYTES);
  if (isWhole && length <= FIRST_BYTES) return { bytes, isWhole, magic };
  const first = bytes.subarray(0, FIRST_BYTES);
  return { bytes: first.subarray(0, first.lastIndexOf(NEWLINE) + 1), isWhole: false, magic };
}
