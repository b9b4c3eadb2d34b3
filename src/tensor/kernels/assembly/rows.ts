// Batches of rows. Each loop works in three strides over a few ids at a time (index entry, row id, row), so that the
// memory accesses of one stride are independent and overlap.

import { update } from './optimizer';
import {
  findRow,
  firstCandidate,
  hashIn,
  initialValues,
  isRow,
  optimizerOf,
  partOf,
  rowOfCandidate,
  seenOffset,
  shardIn,
  stepOffset,
  widthOf,
} from './table';
import { addRow, expectRow, findOrAddRow } from './table-growth';
import { FREED, ROW_VALUES } from './table-layout';

const STRIDE: u32 = 64;
const hashes: usize = memory.data(64 * 8, 16);
const parts: usize = memory.data(64 * 4, 16);
const candidates: usize = memory.data(64 * 4, 16);

/** What `locateRows` writes for an id: a row's address, or one of these. */
const ABSENT: u32 = 0;
const SKIPPED: u32 = 1;

/** SHARD_ACTION of parameters.ts. */
const ACTION_APPLY: u32 = 1;
const ACTION_SKIP: u32 = 2;

/** Hashes, parts and first candidates of some ids; the place of the first whose shard is absent, or `count`. */
function lookAhead(table: u32, ids: usize, count: u32): u32 {
  for (let i: u32 = 0; i < count; i++) {
    const hash = hashIn(table, load<u64>(ids + (i << 3)));
    const part = partOf(table, hash);
    if (part == 0) return i;
    store<u64>(hashes + (i << 3), hash);
    store<u32>(parts + (i << 2), part);
    store<u32>(candidates + (i << 2), firstCandidate(table, part, hash));
  }
  return count;
}

/** Replaces the candidates by rows, 0 for ids without one. */
function settle(table: u32, ids: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const id = load<u64>(ids + (i << 3));
    const hash = load<u64>(hashes + (i << 3));
    const candidate = load<u32>(candidates + (i << 2));
    const row = isRow(candidate, hash, id)
      ? rowOfCandidate(candidate)
      : candidate == 0
        ? ABSENT
        : findRow(table, load<u32>(parts + (i << 2)), hash, id);
    store<u32>(candidates + (i << 2), row);
  }
}

/**
 * Values of n rows to `out`, initial ones for absent rows; to `found`, unless it is 0, where each row is, or ABSENT.
 * Index of the first id whose shard is absent, or -1.
 */
export function pullRows(table: u32, ids: usize, n: u32, out: usize, found: usize): i32 {
  const width = widthOf(table);
  const bytes = width << 2;
  for (let start: u32 = 0; start < n; start += STRIDE) {
    const count = min(STRIDE, n - start);
    const some = ids + (start << 3);
    const good = lookAhead(table, some, count);
    if (good != count) return <i32>(start + good);
    settle(table, some, count);
    if (found != 0) memory.copy(found + (start << 2), candidates, count << 2);
    for (let i: u32 = 0; i < count; i++) {
      const row = load<u32>(candidates + (i << 2));
      if (row == ABSENT) initialValues(table, load<u64>(some + (i << 3)), out);
      else copyFloats(out, row + ROW_VALUES, width);
      out += bytes;
    }
  }
  return -1;
}

@inline function copyFloats(to: usize, from: usize, count: u32): void {
  let i: u32 = 0;
  for (; i + 4 <= count; i += 4) v128.store(to + (i << 2), v128.load(from + (i << 2)));
  for (; i < count; i++) store<u32>(to + (i << 2), load<u32>(from + (i << 2)));
}

/** Index of the first of n ids whose shard takes no update, or -1. `actions` has a SHARD_ACTION for each shard. */
export function checkShards(table: u32, ids: usize, n: u32, actions: usize): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const hash = hashIn(table, load<u64>(ids + (i << 3)));
    const action = <u32>load<u8>(actions + shardIn(table, hash));
    if (action != ACTION_SKIP && (action != ACTION_APPLY || partOf(table, hash) == 0)) return <i32>i;
  }
  return -1;
}

/**
 * Finds n rows before a push or an import touches any: `located` gets a row, ABSENT (then the row is expected, if
 * `expects`) or SKIPPED for each. `actions` has a SHARD_ACTION for each shard. Index of the first id whose shard takes
 * no update, or -1.
 */
export function locateRows(table: u32, ids: usize, n: u32, actions: usize, located: usize, expects: bool): i32 {
  for (let start: u32 = 0; start < n; start += STRIDE) {
    const count = min(STRIDE, n - start);
    const some = ids + (start << 3);
    for (let i: u32 = 0; i < count; i++) {
      const hash = hashIn(table, load<u64>(some + (i << 3)));
      const action = <u32>load<u8>(actions + shardIn(table, hash));
      const part = action == ACTION_APPLY ? partOf(table, hash) : 0;
      if (part == 0 && action != ACTION_SKIP) return <i32>(start + i);
      store<u64>(hashes + (i << 3), hash);
      store<u32>(parts + (i << 2), part);
      store<u32>(candidates + (i << 2), part == 0 ? 0 : firstCandidate(table, part, hash));
    }
    settle(table, some, count);
    for (let i: u32 = 0; i < count; i++) {
      const part = load<u32>(parts + (i << 2));
      const row = load<u32>(candidates + (i << 2));
      if (expects && part != 0 && row == ABSENT) expectRow(part);
      store<u32>(located + ((start + i) << 2), part == 0 ? SKIPPED : row);
    }
  }
  return -1;
}

/**
 * As `locateRows` where every shard that is present takes updates, from what a pull has `found`: only rows that were
 * absent, were not pulled or were removed are looked for. No shard may have been dropped since.
 */
export function recallRows(table: u32, ids: usize, n: u32, found: usize, located: usize, expects: bool): i32 {
  memory.copy(located, found, n << 2);
  const seen = seenOffset(table);
  for (let i: u32 = 0; i < n; i++) {
    const known = load<u32>(located + (i << 2));
    if (known != ABSENT && seen == 0) continue;
    const id = load<u64>(ids + (i << 3));
    if (known != ABSENT && load<u32>(known + seen) != FREED && load<u64>(known) == id) continue;
    const hash = hashIn(table, id);
    const part = partOf(table, hash);
    if (part == 0) return <i32>i;
    const row = findRow(table, part, hash, id);
    if (expects && row == ABSENT) expectRow(part);
    store<u32>(located + (i << 2), row);
  }
  return -1;
}

/** Whether two lists of n ids are the same. */
export function areSameIds(a: usize, b: usize, n: u32): bool {
  const end = <usize>n << 3;
  let at: usize = 0;
  for (; at + 16 <= end; at += 16) {
    if (v128.any_true(v128.xor(v128.load(a + at), v128.load(b + at)))) return false;
  }
  return at == end || load<u64>(a + at) == load<u64>(b + at);
}

/**
 * Applies n gradients to the rows located before; room for absent ones was reserved, and they are located afterwards.
 * The values before that go to `old`, unless it is 0: initial ones of absent rows, zeros of skipped ones.
 */
export function applyRows(table: u32, ids: usize, n: u32, gradients: usize, located: usize, old: usize): void {
  const width = widthOf(table);
  const bytes = width << 2;
  const step = stepOffset(table);
  const optimizer = optimizerOf(table);
  for (let start: u32 = 0; start < n; start += STRIDE) {
    const count = min(STRIDE, n - start);
    const some = ids + (start << 3);
    const rows = located + (start << 2);
    touch(table, some, count, rows, step);
    for (let i: u32 = 0; i < count; i++) {
      let row = load<u32>(rows + (i << 2));
      if (row != SKIPPED) {
        if (row == ABSENT) {
          row = materialize(table, some, i);
          store<u32>(rows + (i << 2), row);
        }
        if (old != 0) copyFloats(old, row + ROW_VALUES, width);
        update(optimizer, row + ROW_VALUES, gradients, width, row + step);
      } else if (old != 0) {
        memory.fill(old, 0, bytes);
      }
      gradients += bytes;
      if (old != 0) old += bytes;
    }
  }
}

/**
 * In a table with `seen`: gives the located rows the `seen` of their shards. At `seen` is a u32 for each shard of the
 * job.
 */
export function markSeen(table: u32, ids: usize, n: u32, located: usize, seen: usize): void {
  const offset = seenOffset(table);
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(located + (i << 2));
    if (row == SKIPPED || row == ABSENT) continue;
    const shard = shardIn(table, hashIn(table, load<u64>(ids + (i << 3))));
    store<u32>(row + offset, load<u32>(seen + (shard << 2)));
  }
}

/** What was read ahead: kept, so that no compiler removes the reading. */
let touched: u32 = 0;

/**
 * Reads the ends of each row, and for absent ones the place in the index, so that the cache loads them in
 * parallel.
 */
function touch(table: u32, ids: usize, count: u32, rows: usize, step: u32): void {
  let sum: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = load<u32>(rows + (i << 2));
    if (row > SKIPPED) {
      sum += load<u32>(row + ROW_VALUES) + load<u32>(row + step - 4);
    } else if (row == ABSENT) {
      const hash = hashIn(table, load<u64>(ids + (i << 3)));
      const part = partOf(table, hash);
      store<u64>(hashes + (i << 3), hash);
      store<u32>(parts + (i << 2), part);
      sum += firstCandidate(table, part, hash);
    }
  }
  touched = sum;
}

/** Row i of a stride that `touch` has seen. */
function materialize(table: u32, ids: usize, i: u32): u32 {
  const id = load<u64>(ids + (i << 3));
  const hash = load<u64>(hashes + (i << 3));
  const part = load<u32>(parts + (i << 2));
  // An id that came twice was added by its first.
  return findOrAddRow(table, part, hash, id);
}

/** Replaces ABSENT by fresh rows whose fields the caller sets; room was reserved. */
export function addLocated(table: u32, ids: usize, n: u32, located: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    if (load<u32>(located + (i << 2)) != ABSENT) continue;
    const id = load<u64>(ids + (i << 3));
    const hash = hashIn(table, id);
    const part = partOf(table, hash);
    const row = findRow(table, part, hash, id);
    store<u32>(located + (i << 2), row == ABSENT ? addRow(part, hash, id) : row);
  }
}

/** Copies one field of each located row out: `bytes` bytes at `offset`. */
export function readField(located: usize, n: u32, offset: u32, bytes: u32, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    memory.copy(out, load<u32>(located + (i << 2)) + offset, bytes);
    out += bytes;
  }
}

/** Copies one field of each located row in; skipped rows are left as they are. */
export function writeField(located: usize, n: u32, offset: u32, bytes: u32, from: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(located + (i << 2));
    if (row != SKIPPED) memory.copy(row + offset, from, bytes);
    from += bytes;
  }
}
