// The trainer's side of sparse tables: the distinct ids of a batch, and which pserver each one goes to.

import { firstPosition, lastPosition, mix64, rowHash, shardOfHash, shiftFor } from './hash';

/**
 * Distinct ids of n, in order of first appearance, after the `known` ones that lists before have left in `distinct` and
 * `index`. `distinct` has room for all ids, `places` for n u32 and `index` for `size` u32, a power of two of at least
 * 4/3 of all ids. `multiplier`, odd and random and the same for all lists, decides where ids are in the index, and
 * nothing else. Writes the place of each id among the distinct ones; returns their number.
 */
export function dedupe(
  ids: usize,
  n: u32,
  distinct: usize,
  known: u32,
  places: usize,
  index: usize,
  size: u32,
  multiplier: u64,
): u32 {
  if (known == 0) memory.fill(index, 0, <usize>size << 2);
  const shift = shiftFor(size);
  const mask = lastPosition(shift);
  let count = known;
  for (let i: u32 = 0; i < n; i++) {
    const id = load<u64>(ids + (i << 3));
    let position = firstPosition(mix64(id), multiplier, shift);
    let entry = load<u32>(index + (position << 2));
    while (isOther(entry, distinct, id)) {
      position = (position + 1) & mask;
      entry = load<u32>(index + (position << 2));
    }
    // A processor cannot predict which ids are new, so there is no branch. The id is written behind the others, and
    // counts there only if it is new.
    store<u64>(distinct + (<usize>count << 3), id);
    const isNew = <u32>(entry == 0);
    count += isNew;
    entry = select<u32>(count, entry, isNew);
    store<u32>(index + (position << 2), entry);
    store<u32>(places + (i << 2), entry - 1);
  }
  return count;
}

/** Whether the entry of an index is that of an id other than `id`. Eight bytes before `distinct` can be read. */
// @ts-ignore: decorator
@inline
function isOther(entry: u32, distinct: usize, id: u64): u32 {
  return <u32>(entry != 0) & <u32>(load<u64>(distinct + (<usize>entry << 3) - 8) != id);
}

/**
 * The owner of each of n ids, to `owners` (u32 each), and the number of ids of each owner, added to `counts`.
 * `placement` has the owner of each shard, an i32, negative where there is none. Index of the first id whose shard has
 * no owner, or -1.
 */
export function countOwners(
  hash: u64,
  shards: u32,
  ids: usize,
  n: u32,
  placement: usize,
  owners: usize,
  counts: usize,
): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const shard = shardOfHash(rowHash(hash, load<u64>(ids + (i << 3))), shards);
    const owner = load<i32>(placement + (shard << 2));
    if (owner < 0) return <i32>i;
    store<i32>(owners + (i << 2), owner);
    const count = counts + (<u32>owner << 2);
    store<u32>(count, load<u32>(count) + 1);
  }
  return -1;
}

/**
 * Deals n ids to their owners: `next` has for each owner the place where its ids begin. Writes positions (u32) and ids
 * (u64) grouped by owner, in each group in the order they came.
 */
export function deal(ids: usize, n: u32, owners: usize, next: usize, positions: usize, dealt: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const at = next + (load<u32>(owners + (i << 2)) << 2);
    const place = load<u32>(at);
    store<u32>(at, place + 1);
    store<u32>(positions + (place << 2), i);
    store<u64>(dealt + (place << 3), load<u64>(ids + (i << 3)));
  }
}
