// Removing rows, in tables with `seen`. A removed row stays where it is, free for the next row of its part.

import { lastPosition } from './hash';
import { hashIn, isRow, positionOf, rowOfCandidate, seenOffset } from './table';
import { FREED, P_FREED, P_FREE_ROWS, P_INDEX, P_ROWS, P_SHIFT, P_TABLE } from './table-layout';

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
  store<u64>(row, load<u32>(part, P_FREED));
  store<u32>(row + seenOffset(table), FREED);
  store<u32>(part, row, P_FREED);
  store<u32>(part, load<u32>(part, P_ROWS) - 1, P_ROWS);
  store<u32>(part, load<u32>(part, P_FREE_ROWS) + 1, P_FREE_ROWS);
  return true;
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

/** A removed row of the part, which counts as one of its rows from now on; 0 if there is none. */
export function takeFreed(part: u32): u32 {
  const row = load<u32>(part, P_FREED);
  if (row == 0) return 0;
  store<u32>(part, <u32>load<u64>(row), P_FREED);
  store<u32>(part, load<u32>(part, P_FREE_ROWS) - 1, P_FREE_ROWS);
  store<u32>(part, load<u32>(part, P_ROWS) + 1, P_ROWS);
  return row;
}

/** The base of `seen` moves: each `seen` of the part is `by` less, but not less than 0. */
export function lowerSeen(part: u32, by: u32): void {
  const seen = seenOffset(load<u32>(part, P_TABLE));
  const index = load<u32>(part, P_INDEX);
  const last = lastPosition(load<u32>(part, P_SHIFT));
  for (let position: u32 = 0; position <= last; position++) {
    const entry = load<u32>(index + (position << 2));
    if (entry == 0) continue;
    const at = rowOfCandidate(entry) + seen;
    const before = load<u32>(at);
    store<u32>(at, before > by ? before - by : 0);
  }
}
