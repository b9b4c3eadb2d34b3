/** The fast form of `crossId` (`columns/hash.ts`), for many records at once. */
import { FRAME_AT, KernelInstance, PAGE_BYTES } from './instance.ts';

/** No call has a frame here: its page is for rows, too. */
const ROWS_AT = FRAME_AT;
const ROWS_BYTES = 8 * PAGE_BYTES;

let instance: KernelInstance | undefined;

/**
 * For each of `count` rows of ids, the id of their combination. `parts` has the first ids, the second ids, and so on,
 * all in u32 halves, low first.
 */
export function crossIds(parts: readonly Uint32Array[], count: number, seed: bigint, buckets = 0): Uint32Array {
  instance ??= new KernelInstance();
  instance.reserve(ROWS_AT + ROWS_BYTES);
  const { buffer, kernels } = instance;
  const perRow = parts.length;
  const atOnce = Math.floor(ROWS_BYTES / (8 * (perRow + 1)));
  const crossed = new Uint32Array(2 * count);
  for (let from = 0; from < count; from += atOnce) {
    const rows = Math.min(atOnce, count - from);
    const out = ROWS_AT + 8 * perRow * rows;
    const ids = new Uint32Array(buffer, ROWS_AT, 2 * perRow * rows);
    parts.forEach((part, place) => {
      for (let row = 0; row < rows; row++) {
        const at = 2 * (row * perRow + place);
        ids[at] = part[2 * (from + row)]!;
        ids[at + 1] = part[2 * (from + row) + 1]!;
      }
    });
    kernels.hashRows(ROWS_AT, rows, perRow, seed, BigInt(buckets), out);
    crossed.set(new Uint32Array(buffer, out, 2 * rows), 2 * from);
  }
  return crossed;
}
