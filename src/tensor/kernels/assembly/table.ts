// Making, finding and listing; `table-growth.ts` adds rows.

import { fillRow } from './initializer';
import { allocate, deallocate } from './memory';
import { firstPosition, lastPosition, rowHash, shardOfHash } from './hash';
import { countsSteps, slotCount } from './optimizer';
import {
  EMPTY_INDEX,
  EMPTY_SHIFT,
  P_BYTES,
  P_INDEX,
  P_NEXT_ROW,
  P_ROWS,
  P_ROWS_END,
  P_SEGMENTS,
  P_SHIFT,
  P_SIZE,
  P_SIZE_WITH_SEEN,
  P_TABLE,
  ROW_VALUES,
  S_BYTES,
  S_HEADER,
  S_NEXT,
  S_OPENED,
  TAG_MASK,
  TAG_SHIFT,
  T_A,
  T_B,
  T_DIRECTORY,
  T_HASH,
  T_KEY,
  T_KIND,
  T_MULTIPLIER,
  T_OPTIMIZER,
  T_SEEN,
  T_SHARDS,
  T_SIZE,
  T_STEP,
  T_STRIDE,
  T_WIDTH,
} from './table-layout';

@inline export function widthOf(table: u32): u32 {
  return load<u32>(table, T_WIDTH);
}

@inline export function stepOffset(table: u32): u32 {
  return load<u32>(table, T_STEP);
}

/** Offset of `seen` in a row; 0: rows have none. */
@inline export function seenOffset(table: u32): u32 {
  return load<u32>(table, T_SEEN);
}

@inline export function optimizerOf(table: u32): u32 {
  return load<u32>(table, T_OPTIMIZER);
}

@inline export function hashIn(table: u32, id: u64): u64 {
  return rowHash(load<u64>(table, T_HASH), id);
}

/** The part that holds rows of this hash; 0 when its shard is absent. */
@inline export function partOf(table: u32, hash: u64): u32 {
  return load<u32>(load<u32>(table, T_DIRECTORY) + (shardOfHash(hash, load<u32>(table, T_SHARDS)) << 2));
}

@inline export function shardIn(table: u32, hash: u64): u32 {
  return shardOfHash(hash, load<u32>(table, T_SHARDS));
}

/**
 * Makes a table without shards, updated by the optimizer; 0 when there is no room. `multiplier` is odd and random; it
 * decides where rows are in the index, and nothing else. `hasSeen`: 1 if rows have a `seen`, and may be removed.
 */
export function createTable(
  hash: u64,
  key: u64,
  multiplier: u64,
  kind: u32,
  a: f64,
  b: f64,
  width: u32,
  shards: u32,
  optimizer: u32,
  hasSeen: u32,
): u32 {
  const directory = allocate(shards << 2);
  if (directory == 0) return 0;
  const table = allocate(T_SIZE);
  if (table == 0) {
    deallocate(directory);
    return 0;
  }
  memory.fill(directory, 0, shards << 2);
  const step = ROW_VALUES + ((width * (1 + slotCount(optimizer))) << 2);
  store<u64>(table, hash, T_HASH);
  store<u64>(table, key, T_KEY);
  store<u64>(table, multiplier, T_MULTIPLIER);
  store<f64>(table, a, T_A);
  store<f64>(table, b, T_B);
  store<u32>(table, kind, T_KIND);
  store<u32>(table, width, T_WIDTH);
  const end = step + (countsSteps(optimizer) ? 4 : 0);
  store<u32>(table, (end + (hasSeen << 2) + 7) & ~7, T_STRIDE);
  store<u32>(table, step, T_STEP);
  store<u32>(table, hasSeen ? end : 0, T_SEEN);
  store<u32>(table, shards, T_SHARDS);
  store<u32>(table, directory, T_DIRECTORY);
  store<u32>(table, optimizer, T_OPTIMIZER);
  return table;
}

/** Makes a shard of the table present and empty; false when there is no room. */
export function addPart(table: u32, shard: u32): bool {
  const size = seenOffset(table) == 0 ? P_SIZE : P_SIZE_WITH_SEEN;
  const part = allocate(size);
  if (part == 0) return false;
  memory.fill(part, 0, size);
  store<u32>(part, <u32>EMPTY_INDEX, P_INDEX);
  store<u32>(part, EMPTY_SHIFT, P_SHIFT);
  store<u32>(part, table, P_TABLE);
  store<u32>(part, size, P_BYTES);
  store<u32>(load<u32>(table, T_DIRECTORY) + (shard << 2), part);
  return true;
}

export function partAt(table: u32, shard: u32): u32 {
  return load<u32>(load<u32>(table, T_DIRECTORY) + (shard << 2));
}

export function dropPart(table: u32, shard: u32): void {
  const entry = load<u32>(table, T_DIRECTORY) + (shard << 2);
  const part = load<u32>(entry);
  store<u32>(entry, 0);
  const index = load<u32>(part, P_INDEX);
  if (index != <u32>EMPTY_INDEX) deallocate(index);
  let segment = load<u32>(part, P_SEGMENTS);
  while (segment != 0) {
    const next = load<u32>(segment, S_NEXT);
    deallocate(segment);
    segment = next;
  }
  deallocate(part);
}

export function partRows(part: u32): u32 {
  return load<u32>(part, P_ROWS);
}

export function partBytes(part: u32): u32 {
  return load<u32>(part, P_BYTES);
}

/** First index entry to look at, and its row: for touching memory ahead of need. */
@inline export function firstCandidate(table: u32, part: u32, hash: u64): u32 {
  return load<u32>(load<u32>(part, P_INDEX) + (positionOf(table, part, hash) << 2));
}

/** Where a search of the part's index begins. */
@inline export function positionOf(table: u32, part: u32, hash: u64): u32 {
  return firstPosition(hash, load<u64>(table, T_MULTIPLIER), load<u32>(part, P_SHIFT));
}

@inline export function isRow(candidate: u32, hash: u64, id: u64): bool {
  const tag = <u32>hash >> TAG_SHIFT;
  return candidate != 0 && (candidate & TAG_MASK) == tag && load<u64>(candidate & ~TAG_MASK) == id;
}

@inline export function rowOfCandidate(candidate: u32): u32 {
  return candidate & ~TAG_MASK;
}

/** The row, or 0. */
export function findRow(table: u32, part: u32, hash: u64, id: u64): u32 {
  const index = load<u32>(part, P_INDEX);
  const mask = lastPosition(load<u32>(part, P_SHIFT));
  let position = positionOf(table, part, hash);
  while (true) {
    const entry = load<u32>(index + (position << 2));
    if (entry == 0) return 0;
    if (isRow(entry, hash, id)) return entry & ~TAG_MASK;
    position = (position + 1) & mask;
  }
}

/** Initial values of a row at `out`. */
@inline export function initialValues(table: u32, id: u64, out: usize): void {
  fillRow(
    out,
    load<u32>(table, T_WIDTH),
    load<u32>(table, T_KIND),
    load<f64>(table, T_A),
    load<f64>(table, T_B),
    load<u64>(table, T_KEY),
    id,
  );
}

/** Where the rows of a segment end that were added, removed ones among them. */
@inline export function filledEnd(part: u32, segment: u32): u32 {
  if (load<u32>(segment, S_OPENED) == 0) return segment + S_HEADER;
  const end = segment + load<u32>(segment, S_BYTES);
  return end == load<u32>(part, P_ROWS_END) ? load<u32>(part, P_NEXT_ROW) : end;
}

/**
 * Writes up to `room` ids of the part, in the order of memory. `from` is 0 or what the last call returned: where to
 * continue, 0 at the end. In a table with `seen`: only ids of rows whose `seen` is from `least` to `most`.
 */
export function collectIds(part: u32, from: u32, out: usize, room: u32, least: u32, most: u32): u32 {
  const table = load<u32>(part, P_TABLE);
  const seen = seenOffset(table);
  const stride = load<u32>(table, T_STRIDE);
  collected = 0;
  let segment = load<u32>(part, P_SEGMENTS);
  let row = segment + S_HEADER;
  if (from != 0) {
    while (from < segment || from >= segment + load<u32>(segment, S_BYTES)) segment = load<u32>(segment, S_NEXT);
    row = from;
  }
  while (segment != 0) {
    const end = filledEnd(part, segment);
    for (; row != end; row += stride) {
      if (seen != 0 && (load<u32>(row + seen) < least || load<u32>(row + seen) > most)) continue;
      if (collected == room) return row;
      store<u64>(out + (collected << 3), load<u64>(row));
      collected++;
    }
    segment = load<u32>(segment, S_NEXT);
    row = segment + S_HEADER;
  }
  return 0;
}

let collected: u32 = 0;

/** Ids that the last `collectIds` wrote. */
export function collectedIds(): u32 {
  return collected;
}
