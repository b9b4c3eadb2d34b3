// Adding rows, in two steps: first room is made for all that a push will add, which may fail; then they are added,
// which cannot.

import { firstPosition, lastPosition, shiftFor } from './hash';
import { allocate, deallocate } from './memory';
import { countsSteps, startSlots } from './optimizer';
import { filledEnd, hashIn, initialValues, isRow, optimizerOf, positionOf, rowOfCandidate, seenOffset } from './table';
import {
  EMPTY_INDEX,
  FREED,
  P_BYTES,
  P_FREED,
  P_FREE_ROWS,
  P_INDEX,
  P_NEXT_ROW,
  P_PENDING,
  P_ROWS,
  P_ROWS_END,
  P_SEGMENTS,
  P_SHIFT,
  P_SPARE,
  P_TABLE,
  P_TOUCHED,
  ROW_VALUES,
  SEGMENT_BYTES,
  SMALLEST_INDEX,
  SMALLEST_SEGMENT_ROWS,
  S_BYTES,
  S_HEADER,
  S_NEXT,
  S_NEXT_SPARE,
  S_OPENED,
  TAG_SHIFT,
  T_MULTIPLIER,
  T_STEP,
  T_STRIDE,
  T_WIDTH,
} from './table-layout';

/** Parts with pending rows, linked by P_TOUCHED; the chain ends with 1. */
let touched: u32 = 1;

/** Counts a row that is to be added, for `reservePending`. */
@inline export function expectRow(part: u32): void {
  const pending = load<u32>(part, P_PENDING);
  if (pending == 0) {
    store<u32>(part, touched, P_TOUCHED);
    touched = part;
  }
  store<u32>(part, pending + 1, P_PENDING);
}

/** Makes room for all expected rows, or answers false; in both cases no row is expected afterwards. */
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
  const room = index == <u32>EMPTY_INDEX ? 0 : <u64>lastPosition(load<u32>(part, P_SHIFT)) + 1;
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
  store<u32>(segment, 0, S_OPENED);
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
  const old = load<u32>(part, P_INDEX);
  const shift = shiftFor(size);
  let oldBytes: u32 = 0;
  if (old != <u32>EMPTY_INDEX) {
    oldBytes = (lastPosition(load<u32>(part, P_SHIFT)) + 1) << 2;
    placeAllRows(part, fresh, shift);
    deallocate(old);
  }
  store<u32>(part, fresh, P_INDEX);
  store<u32>(part, shift, P_SHIFT);
  store<u32>(part, load<u32>(part, P_BYTES) + (size << 2) - oldBytes, P_BYTES);
  return true;
}

/** Visits the rows in the order of their addresses, which memory is read fastest in; the old index is in no order. */
function placeAllRows(part: u32, index: u32, shift: u32): void {
  const table = load<u32>(part, P_TABLE);
  const stride = load<u32>(table, T_STRIDE);
  const multiplier = load<u64>(table, T_MULTIPLIER);
  const mask = lastPosition(shift);
  const seen = seenOffset(table);
  for (let segment = load<u32>(part, P_SEGMENTS); segment != 0; segment = load<u32>(segment, S_NEXT)) {
    const end = filledEnd(part, segment);
    for (let row = segment + S_HEADER; row != end; row += stride) {
      if (seen != 0 && load<u32>(row + seen) == FREED) continue;
      const hash = hashIn(table, load<u64>(row));
      placeEntry(index, firstPosition(hash, multiplier, shift), mask, row | (<u32>hash >> TAG_SHIFT));
    }
  }
}

/** Places the rows of a part in its index again, after some were freed. */
export function placeAgain(part: u32): void {
  const index = load<u32>(part, P_INDEX);
  const shift = load<u32>(part, P_SHIFT);
  memory.fill(index, 0, (lastPosition(shift) + 1) << 2);
  placeAllRows(part, index, shift);
}

@inline function placeEntry(index: u32, position: u32, mask: u32, entry: u32): void {
  while (load<u32>(index + (position << 2)) != 0) position = (position + 1) & mask;
  store<u32>(index + (position << 2), entry);
}

/** The row, added with its initial values and slots if it is missing; room was reserved. */
export function findOrAddRow(table: u32, part: u32, hash: u64, id: u64): u32 {
  const index = load<u32>(part, P_INDEX);
  const mask = lastPosition(load<u32>(part, P_SHIFT));
  let position = positionOf(table, part, hash);
  let entry = load<u32>(index + (position << 2));
  while (entry != 0) {
    if (isRow(entry, hash, id)) return rowOfCandidate(entry);
    position = (position + 1) & mask;
    entry = load<u32>(index + (position << 2));
  }
  const row = takeRow(table, part);
  store<u64>(row, id);
  store<u32>(index + (position << 2), row | (<u32>hash >> TAG_SHIFT));
  initialValues(table, id, row + ROW_VALUES);
  const optimizer = optimizerOf(table);
  startSlots(optimizer, row + ROW_VALUES, load<u32>(table, T_WIDTH));
  if (countsSteps(optimizer)) store<u32>(row + load<u32>(table, T_STEP), 0);
  return row;
}

/** Adds a row that is missing; room was reserved. Sets the id, nothing else. */
export function addRow(part: u32, hash: u64, id: u64): u32 {
  const table = load<u32>(part, P_TABLE);
  const row = takeRow(table, part);
  store<u64>(row, id);
  const mask = lastPosition(load<u32>(part, P_SHIFT));
  placeEntry(load<u32>(part, P_INDEX), positionOf(table, part, hash), mask, row | (<u32>hash >> TAG_SHIFT));
  return row;
}

/**
 * The next of the rows that were reserved: one that was removed, if there is one. The caller sets its fields, `seen`
 * among them.
 */
@inline function takeRow(table: u32, part: u32): u32 {
  if (seenOffset(table) != 0) {
    const freed = takeFreed(part);
    if (freed != 0) return freed;
  }
  const stride = load<u32>(table, T_STRIDE);
  let row = load<u32>(part, P_NEXT_ROW);
  if (row == load<u32>(part, P_ROWS_END)) {
    const segment = load<u32>(part, P_SPARE);
    store<u32>(part, load<u32>(segment, S_NEXT_SPARE), P_SPARE);
    store<u32>(segment, 1, S_OPENED);
    store<u32>(part, segment + load<u32>(segment, S_BYTES), P_ROWS_END);
    row = segment + S_HEADER;
  }
  store<u32>(part, row + stride, P_NEXT_ROW);
  store<u32>(part, load<u32>(part, P_FREE_ROWS) - 1, P_FREE_ROWS);
  store<u32>(part, load<u32>(part, P_ROWS) + 1, P_ROWS);
  return row;
}

/** A removed row of the part, which counts as one of its rows from now on; 0 if there is none. */
function takeFreed(part: u32): u32 {
  const row = load<u32>(part, P_FREED);
  if (row == 0) return 0;
  store<u32>(part, <u32>load<u64>(row), P_FREED);
  store<u32>(part, load<u32>(part, P_FREE_ROWS) - 1, P_FREE_ROWS);
  store<u32>(part, load<u32>(part, P_ROWS) + 1, P_ROWS);
  return row;
}
