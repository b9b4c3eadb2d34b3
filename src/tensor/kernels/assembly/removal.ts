// Removing rows, in tables with `seen`. A removed row stays where it is, free for the next row of its part.

import { lastPosition } from './hash';
import { filledEnd, hashIn, isRow, positionOf, rowOfCandidate, seenOffset } from './table';
import { placeAgain } from './table-growth';
import {
  FREED,
  P_FREED,
  P_FREE_ROWS,
  P_INDEX,
  P_ROWS,
  P_SEGMENTS,
  P_SHIFT,
  P_TABLE,
  S_HEADER,
  S_NEXT,
  T_STRIDE,
} from './table-layout';

/** Removes those of n ids that have a row in the part, which is that of their shard. Returns their number. */
export function removeRows(part: u32, ids: usize, n: u32): u32 {
  let removed: u32 = 0;
  for (let i: u32 = 0; i < n; i++) removed += <u32>removeRow(part, load<u64>(ids + (i << 3)));
  return removed;
}

/** Removes the row of an id, whose shard is that of the part; false if there is none. */
export function removeRow(part: u32, id: u64): bool {
  const table = load<u32>(part, P_TABLE);
  const row = unlink(table, part, id);
  if (row == 0) return false;
  free(part, row, seenOffset(table));
  return true;
}

/** Makes a row that is not in the index free for the next row of the part. */
@inline function free(part: u32, row: u32, seen: u32): void {
  store<u64>(row, load<u32>(part, P_FREED));
  store<u32>(row + seen, FREED);
  store<u32>(part, row, P_FREED);
  store<u32>(part, load<u32>(part, P_ROWS) - 1, P_ROWS);
  store<u32>(part, load<u32>(part, P_FREE_ROWS) + 1, P_FREE_ROWS);
}

/** Takes the row of an id out of the index; 0 if there is none. */
function unlink(table: u32, part: u32, id: u64): u32 {
  const hash = hashIn(table, id);
  const index = load<u32>(part, P_INDEX);
  const mask = lastPosition(load<u32>(part, P_SHIFT));
  let position = positionOf(table, part, hash);
  let entry = load<u32>(index + (position << 2));
  while (entry != 0 && !isRow(entry, hash, id)) {
    position = (position + 1) & mask;
    entry = load<u32>(index + (position << 2));
  }
  if (entry != 0) closeGap(table, part, index, position, mask);
  return rowOfCandidate(entry);
}

/**
 * Linear probing has no marks for removed entries: those behind a gap move into it, unless their search begins behind
 * it (Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm R).
 */
function closeGap(table: u32, part: u32, index: u32, gap: u32, mask: u32): void {
  let position = gap;
  while (true) {
    position = (position + 1) & mask;
    const entry = load<u32>(index + (position << 2));
    if (entry == 0) break;
    const first = positionOf(table, part, hashIn(table, load<u64>(rowOfCandidate(entry))));
    if (((position - first) & mask) < ((position - gap) & mask)) continue;
    store<u32>(index + (gap << 2), entry);
    gap = position;
  }
  store<u32>(index + (gap << 2), 0);
}

/** Removes the rows of the part whose `seen` is at most `most`. Returns their number. */
export function removeUnseen(part: u32, most: u32): u32 {
  const table = load<u32>(part, P_TABLE);
  const offset = seenOffset(table);
  const stride = load<u32>(table, T_STRIDE);
  const rows = load<u32>(part, P_ROWS);
  for (let segment = load<u32>(part, P_SEGMENTS); segment != 0; segment = load<u32>(segment, S_NEXT)) {
    const end = filledEnd(part, segment);
    for (let row = segment + S_HEADER; row != end; row += stride) {
      if (load<u32>(row + offset) <= most) free(part, row, offset);
    }
  }
  const removed = rows - load<u32>(part, P_ROWS);
  // Placing all rows again is faster than taking many out one by one.
  if (removed != 0) placeAgain(part);
  return removed;
}

/**
 * For each row of the part whose `seen` is at least `from` and below `to`, adds `each` to the u32 of its bucket at
 * `sums`. A bucket is for 2^shift values of `seen`.
 */
export function sumSeen(part: u32, from: u32, to: u32, shift: u32, each: u32, sums: usize): void {
  const table = load<u32>(part, P_TABLE);
  const offset = seenOffset(table);
  const stride = load<u32>(table, T_STRIDE);
  for (let segment = load<u32>(part, P_SEGMENTS); segment != 0; segment = load<u32>(segment, S_NEXT)) {
    const end = filledEnd(part, segment);
    for (let row = segment + S_HEADER; row != end; row += stride) {
      const seen = load<u32>(row + offset);
      if (seen < from || seen >= to) continue;
      const bucket = sums + (((seen - from) >> shift) << 2);
      store<u32>(bucket, load<u32>(bucket) + each);
    }
  }
}

/** The base of `seen` moves: each `seen` of the part is `by` less, but not less than 0. */
export function lowerSeen(part: u32, by: u32): void {
  const table = load<u32>(part, P_TABLE);
  const offset = seenOffset(table);
  const stride = load<u32>(table, T_STRIDE);
  for (let segment = load<u32>(part, P_SEGMENTS); segment != 0; segment = load<u32>(segment, S_NEXT)) {
    const end = filledEnd(part, segment);
    for (let row = segment + S_HEADER; row != end; row += stride) {
      const seen = load<u32>(row + offset);
      if (seen != FREED) store<u32>(row + offset, seen > by ? seen - by : 0);
    }
  }
}
