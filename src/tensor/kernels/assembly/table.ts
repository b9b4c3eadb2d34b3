// Sparse tables. A table is cut into shards; each present shard has a small hash table of its own, so that growth copies the
// index of one shard of one table and moves no row.
//
// A row: u64 id, width values, the optimizer's slots of width floats each, u32 step if updates are counted; padded to 8.
// An index entry: address of the row (a multiple of 8) with 3 bits of the hash in its low bits; 0 is free. Linear probing,
// at most 3/4 full. So a row of 16 floats under SGD takes 72 bytes and 5.3 to 10.7 of index.

import { fillRow } from './initializer';
import { allocate, deallocate } from './memory';
import { rowHash, shardOfHash } from './hash';
import { countsSteps, slotCount, startSlots } from './optimizer';

/** All sizes in bytes. Offsets in a table's descriptor: */
const T_HASH: usize = 0; // u64
const T_KEY: usize = 8; // u64, of the initializer
const T_A: usize = 16; // f64
const T_B: usize = 24; // f64
const T_KIND: usize = 32;
const T_WIDTH: usize = 36;
const T_STRIDE: usize = 40;
const T_STEP: usize = 44; // offset of the step in a row
const T_SHARDS: usize = 48;
const T_DIRECTORY: usize = 52; // u32[shards]: the part, 0 when the shard is absent
const T_SIZE: u32 = 56;

/** Offsets in a part, one shard of one table: */
const P_INDEX: usize = 0;
const P_MASK: usize = 4;
const P_ROWS: usize = 8;
const P_NEXT_ROW: usize = 12; // where the next row goes,
const P_ROWS_END: usize = 16; // up to here; then the spare segments
const P_SPARE: usize = 20;
const P_FREE_ROWS: usize = 24; // in the open segment and the spare ones
const P_SEGMENTS: usize = 28;
const P_BYTES: usize = 32;
const P_PENDING: usize = 36; // rows that the push at hand will add
const P_TOUCHED: usize = 40;
const P_TABLE: usize = 44;
const P_SIZE: u32 = 48;

/** Offsets in a segment of rows: */
const S_NEXT: usize = 0;
const S_BYTES: usize = 4;
const S_NEXT_SPARE: usize = 8;
const S_HEADER: u32 = 16;

export const ROW_VALUES: u32 = 8;
const SMALLEST_INDEX: u32 = 8;
const SEGMENT_BYTES: u32 = 65536;
const SMALLEST_SEGMENT_ROWS: u32 = 8;
const TAG_SHIFT: u32 = 29;
const TAG_MASK: u32 = 7;

/** An index with nothing in it, for parts without rows. */
const EMPTY_INDEX: usize = memory.data(8);

/** Parts with pending rows, linked by P_TOUCHED; the chain ends with 1. */
let touched: u32 = 1;

@inline export function widthOf(table: u32): u32 {
  return load<u32>(table, T_WIDTH);
}

@inline export function stepOffset(table: u32): u32 {
  return load<u32>(table, T_STEP);
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

/** Makes a table without shards; 0 when there is no room. */
export function createTable(hash: u64, key: u64, kind: u32, a: f64, b: f64, width: u32, shards: u32): u32 {
  const directory = allocate(shards << 2);
  if (directory == 0) return 0;
  const table = allocate(T_SIZE);
  if (table == 0) {
    deallocate(directory);
    return 0;
  }
  memory.fill(directory, 0, shards << 2);
  const step = ROW_VALUES + ((width * (1 + slotCount())) << 2);
  store<u64>(table, hash, T_HASH);
  store<u64>(table, key, T_KEY);
  store<f64>(table, a, T_A);
  store<f64>(table, b, T_B);
  store<u32>(table, kind, T_KIND);
  store<u32>(table, width, T_WIDTH);
  store<u32>(table, (step + (countsSteps() ? 4 : 0) + 7) & ~7, T_STRIDE);
  store<u32>(table, step, T_STEP);
  store<u32>(table, shards, T_SHARDS);
  store<u32>(table, directory, T_DIRECTORY);
  return table;
}

/** Makes a shard of the table present and empty; false when there is no room. */
export function addPart(table: u32, shard: u32): bool {
  const part = allocate(P_SIZE);
  if (part == 0) return false;
  memory.fill(part, 0, P_SIZE);
  store<u32>(part, <u32>EMPTY_INDEX, P_INDEX);
  store<u32>(part, table, P_TABLE);
  store<u32>(part, P_SIZE, P_BYTES);
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
@inline export function firstCandidate(part: u32, hash: u64): u32 {
  return load<u32>(load<u32>(part, P_INDEX) + ((<u32>hash & load<u32>(part, P_MASK)) << 2));
}

@inline export function isRow(candidate: u32, hash: u64, id: u64): bool {
  const tag = <u32>hash >> TAG_SHIFT;
  return candidate != 0 && (candidate & TAG_MASK) == tag && load<u64>(candidate & ~TAG_MASK) == id;
}

@inline export function rowOfCandidate(candidate: u32): u32 {
  return candidate & ~TAG_MASK;
}

/** The row, or 0. */
export function findRow(part: u32, hash: u64, id: u64): u32 {
  const index = load<u32>(part, P_INDEX);
  const mask = load<u32>(part, P_MASK);
  let position = <u32>hash & mask;
  while (true) {
    const entry = load<u32>(index + (position << 2));
    if (entry == 0) return 0;
    if (isRow(entry, hash, id)) return entry & ~TAG_MASK;
    position = (position + 1) & mask;
  }
}

/** Counts a row that is to be added, for `reservePending`. */
@inline export function expectRow(part: u32): void {
  const pending = load<u32>(part, P_PENDING);
  if (pending == 0) {
    store<u32>(part, touched, P_TOUCHED);
    touched = part;
  }
  store<u32>(part, pending + 1, P_PENDING);
}

/** Makes room for all expected rows, or answers false; either way nothing is expected any more. */
export function reservePending(): bool {
  let ok = true;
  while (touched != 1) {
    const part = touched;
    if (ok) ok = reserve(part, load<u32>(part, P_PENDING));
    store<u32>(part, 0, P_PENDING);
    touched = load<u32>(part, P_TOUCHED);
  }
  return ok;
}

export function forgetPending(): void {
  while (touched != 1) {
    store<u32>(touched, 0, P_PENDING);
    touched = load<u32>(touched, P_TOUCHED);
  }
}

function reserve(part: u32, more: u32): bool {
  const free = load<u32>(part, P_FREE_ROWS);
  if (free < more && !addSegment(part, more - free)) return false;
  const rows = <u64>load<u32>(part, P_ROWS) + <u64>more;
  const index = load<u32>(part, P_INDEX);
  const room = index == <u32>EMPTY_INDEX ? 0 : <u64>load<u32>(part, P_MASK) + 1;
  if (rows * 4 <= room * 3) return true;
  let size: u64 = max<u64>(room, SMALLEST_INDEX);
  while (rows * 4 > size * 3) size <<= 1;
  return size < 0x20000000 && growIndex(part, <u32>size);
}

function addSegment(part: u32, least: u32): bool {
  const stride = load<u32>(load<u32>(part, P_TABLE), T_STRIDE);
  const usual = min(max(load<u32>(part, P_ROWS) >> 3, SMALLEST_SEGMENT_ROWS), max<u32>(1, SEGMENT_BYTES / stride));
  let rows = max(least, usual);
  let segment = allocateRows(rows, stride);
  if (segment == 0 && rows > least) {
    rows = least;
    segment = allocateRows(rows, stride);
  }
  if (segment == 0) return false;
  const bytes = S_HEADER + rows * stride;
  store<u32>(segment, load<u32>(part, P_SEGMENTS), S_NEXT);
  store<u32>(segment, bytes, S_BYTES);
  store<u32>(segment, load<u32>(part, P_SPARE), S_NEXT_SPARE);
  store<u32>(part, segment, P_SEGMENTS);
  store<u32>(part, segment, P_SPARE);
  store<u32>(part, load<u32>(part, P_FREE_ROWS) + rows, P_FREE_ROWS);
  store<u32>(part, load<u32>(part, P_BYTES) + bytes, P_BYTES);
  return true;
}

function allocateRows(rows: u32, stride: u32): u32 {
  const bytes = <u64>rows * <u64>stride + S_HEADER;
  return bytes >> 32 == 0 ? allocate(<u32>bytes) : 0;
}

function growIndex(part: u32, size: u32): bool {
  const fresh = allocate(size << 2);
  if (fresh == 0) return false;
  memory.fill(fresh, 0, size << 2);
  const table = load<u32>(part, P_TABLE);
  const old = load<u32>(part, P_INDEX);
  const mask = size - 1;
  let oldBytes: u32 = 0;
  if (old != <u32>EMPTY_INDEX) {
    oldBytes = (load<u32>(part, P_MASK) + 1) << 2;
    for (let at = old; at < old + oldBytes; at += 4) {
      const entry = load<u32>(at);
      if (entry != 0) placeEntry(fresh, mask, <u32>hashIn(table, load<u64>(entry & ~TAG_MASK)), entry);
    }
    deallocate(old);
  }
  store<u32>(part, fresh, P_INDEX);
  store<u32>(part, mask, P_MASK);
  store<u32>(part, load<u32>(part, P_BYTES) + (size << 2) - oldBytes, P_BYTES);
  return true;
}

@inline function placeEntry(index: u32, mask: u32, hash: u32, entry: u32): void {
  let position = hash & mask;
  while (load<u32>(index + (position << 2)) != 0) position = (position + 1) & mask;
  store<u32>(index + (position << 2), entry);
}

/** Adds a row that is not there; room was reserved. The id is set, nothing else. */
export function addRow(part: u32, hash: u64, id: u64): u32 {
  const stride = load<u32>(load<u32>(part, P_TABLE), T_STRIDE);
  let row = load<u32>(part, P_NEXT_ROW);
  if (row == load<u32>(part, P_ROWS_END)) {
    const segment = load<u32>(part, P_SPARE);
    store<u32>(part, load<u32>(segment, S_NEXT_SPARE), P_SPARE);
    store<u32>(part, segment + load<u32>(segment, S_BYTES), P_ROWS_END);
    row = segment + S_HEADER;
  }
  store<u32>(part, row + stride, P_NEXT_ROW);
  store<u32>(part, load<u32>(part, P_FREE_ROWS) - 1, P_FREE_ROWS);
  store<u32>(part, load<u32>(part, P_ROWS) + 1, P_ROWS);
  store<u64>(row, id);
  const tag = <u32>hash >> TAG_SHIFT;
  placeEntry(load<u32>(part, P_INDEX), load<u32>(part, P_MASK), <u32>hash, row | tag);
  return row;
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

/** Adds a row at its initial values and slots. */
export function addInitialRow(table: u32, part: u32, hash: u64, id: u64): u32 {
  const row = addRow(part, hash, id);
  initialValues(table, id, row + ROW_VALUES);
  startSlots(row + ROW_VALUES, load<u32>(table, T_WIDTH));
  if (countsSteps()) store<u32>(row + load<u32>(table, T_STEP), 0);
  return row;
}

/** Writes up to `room` ids of the part from index position `from` on; answers where to go on, 0 at the end. */
export function collectIds(part: u32, from: u32, out: usize, room: u32): u32 {
  const index = load<u32>(part, P_INDEX);
  const size: u32 = index == <u32>EMPTY_INDEX ? 0 : load<u32>(part, P_MASK) + 1;
  let count: u32 = 0;
  let position = from;
  for (; position < size && count < room; position++) {
    const entry = load<u32>(index + (position << 2));
    if (entry == 0) continue;
    store<u64>(out + (count << 3), load<u64>(entry & ~TAG_MASK));
    count++;
  }
  collected = count;
  return position < size ? position : 0;
}

let collected: u32 = 0;

/** Ids that the last `collectIds` wrote. */
export function collectedIds(): u32 {
  return collected;
}
