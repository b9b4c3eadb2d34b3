// Putting in rows that are known to be new, in ascending order of their ids, as files have them: no row is
// looked up, and the rows are stored one after the other.

import { shardOfHash } from './hash';
import { countsSteps, slotCount } from './optimizer';
import { hashIn, optimizerOf, seenOffset, widthOf } from './table';
import { addRow, expectRow } from './table-growth';
import { P_TABLE, ROW_VALUES, T_SHARDS } from './table-layout';

/**
 * Expects n rows of the part's shard, whose ids must ascend; the first must be above `last` unless `isFirst`. The place
 * of the first id that is not so, or -1.
 */
export function expectAscending(part: u32, shard: u32, ids: usize, n: u32, last: u64, isFirst: bool): i32 {
  const table = load<u32>(part, P_TABLE);
  const shards = load<u32>(table, T_SHARDS);
  for (let i: u32 = 0; i < n; i++) {
    const id = load<u64>(ids + (i << 3));
    const ascends = id > last || (isFirst && i == 0);
    if (!ascends || shardOfHash(hashIn(table, id), shards) != shard) return <i32>i;
    last = id;
    expectRow(part);
  }
  return -1;
}

/**
 * Adds n expected rows; at `fields` are their values, then each slot, then the steps if updates are counted, then
 * `seen` if the table has one.
 */
export function addAscending(part: u32, ids: usize, n: u32, fields: usize): void {
  const table = load<u32>(part, P_TABLE);
  const width = widthOf(table);
  const optimizer = optimizerOf(table);
  const floats: u32 = 1 + slotCount(optimizer);
  const counts = countsSteps(optimizer);
  const columnBytes = n * (width << 2);
  const steps = fields + floats * columnBytes;
  const hasSeen = seenOffset(table) != 0;
  const seen = counts ? steps + (n << 2) : steps;
  for (let i: u32 = 0; i < n; i++) {
    const id = load<u64>(ids + (i << 3));
    let to = <usize>addRow(part, hashIn(table, id), id) + ROW_VALUES;
    let from = fields + i * (width << 2);
    for (let column: u32 = 0; column < floats; column++) {
      copyWords(to, from, width);
      to += width << 2;
      from += columnBytes;
    }
    if (counts) {
      store<u32>(to, load<u32>(steps + (i << 2)));
      to += 4;
    }
    if (hasSeen) store<u32>(to, load<u32>(seen + (i << 2)));
  }
}

@inline function copyWords(to: usize, from: usize, count: u32): void {
  let i: u32 = 0;
  for (; i + 4 <= count; i += 4) v128.store(to + (i << 2), v128.load(from + (i << 2)));
  for (; i < count; i++) store<u32>(to + (i << 2), load<u32>(from + (i << 2)));
}
