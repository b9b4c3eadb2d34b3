// Ids that come twice in a list. Most lists have none, so a filter of 16 bits an id goes first: each id sets three bits
// of one word of 64. Only ids of a word in which an id found all its bits set can be equal, some 2 in 100 of a list
// without repeats. They are put into an exact set.
//
// The word follows from the high bits of the row's hash, as its shard does: ids that come shard by shard, as paddlet's
// trainers send them, work in a few KB of the filter at a time. The hash is known, so a hostile list can make all ids
// share a word. The set has a random hash: so no list costs more than O(n), expected over the set's hash.

import { hashIn } from './table';

/** A short list has a word for each id, which fits the cache: then most have no id for the set at all. */
const SHORT: u32 = 4096;
const IDS_PER_WORD: u32 = 4;

@inline function wordsFor(n: u32): u32 {
  return n <= SHORT ? n : (n + IDS_PER_WORD - 1) / IDS_PER_WORD;
}

/** Bytes of the filter of n ids: u64 words, and a bit for each that says whether ids of it may be equal. */
export function filterBytes(n: u32): u32 {
  const words = wordsFor(n);
  return (words << 3) + ((words + 7) >> 3);
}

/**
 * The places in the list of those of n ids that may be equal, ascending, to `places`, which has room for n u32; returns
 * their number. All ids that are equal to another are among them.
 */
export function mayRepeat(table: u32, ids: usize, n: u32, places: usize, filter: usize): u32 {
  const words = wordsFor(n);
  const marks = filter + (<usize>words << 3);
  memory.fill(filter, 0, filterBytes(n));
  let marked = false;
  for (let i: u32 = 0; i < n; i++) {
    const hash = hashIn(table, load<u64>(ids + (i << 3)));
    const word = <u32>(((hash >> 32) * <u64>words) >> 32);
    const bits = ((<u64>1) << (hash & 63)) | ((<u64>1) << ((hash >> 6) & 63)) | ((<u64>1) << ((hash >> 12) & 63));
    const before = load<u64>(filter + (word << 3));
    store<u64>(filter + (word << 3), before | bits);
    store<u32>(places + (i << 2), word);
    if ((before & bits) != bits) continue;
    const mark = marks + (word >> 3);
    store<u8>(mark, <u8>(<u32>load<u8>(mark) | (1 << (word & 7))));
    marked = true;
  }
  return marked ? placesOfMarked(n, places, marks) : 0;
}

/** Replaces the word of each id by the places of those whose word is marked: never more than were read. */
function placesOfMarked(n: u32, places: usize, marks: usize): u32 {
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const word = load<u32>(places + (i << 2));
    store<u32>(places + (count << 2), i);
    count += (<u32>load<u8>(marks + (word >> 3)) >> (word & 7)) & 1;
  }
  return count;
}

/** Chains of a set of n ids: a power of two. */
@inline function chainsLog2(n: u32): u32 {
  return n < 2 ? 1 : 33 - clz(n - 1);
}

/** Bytes of the set of n ids: the first of each chain and the next of each id, u32, from 1. */
export function repeatSetBytes(n: u32): u32 {
  return (4 << chainsLog2(n)) + (n << 2);
}

/**
 * Place of the first of n ids that came before, or -1; `places` has their places in the list. The set's hash is
 * multiply-shift: with a random odd `multiplier`, two ids meet in a chain with a probability of at most 2 / chains,
 * whatever they are.
 */
export function firstRepeated(ids: usize, places: usize, n: u32, set: usize, multiplier: u64): i32 {
  const log2 = chainsLog2(n);
  const following = set + (<usize>4 << log2);
  memory.fill(set, 0, <usize>4 << log2);
  for (let i: u32 = 0; i < n; i++) {
    const place = load<u32>(places + (i << 2));
    const id = load<u64>(ids + (place << 3));
    const chain = set + (<u32>((id * multiplier) >> (64 - log2)) << 2);
    const first = load<u32>(chain);
    for (let one = first; one != 0; one = load<u32>(following + ((one - 1) << 2))) {
      if (load<u64>(ids + (load<u32>(places + ((one - 1) << 2)) << 3)) == id) return <i32>place;
    }
    store<u32>(following + (i << 2), first);
    store<u32>(chain, i + 1);
  }
  return -1;
}
