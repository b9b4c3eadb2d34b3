// The hash that places rows. `src/tensor/shard-hash.ts` documents it and has the plain form.

/**
 * The finalizer of splitmix64 (Steele, Lea & Flood 2014): a bijection in which every input bit moves every output
 * bit.
 */
@inline export function mix64(value: u64): u64 {
  let x = value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

@inline export function rowHash(tableHash: u64, id: u64): u64 {
  return mix64(id ^ tableHash);
}

/** The shard is decided by the high half of the hash. */
@inline export function shardOfHash(hash: u64, shards: u32): u32 {
  return <u32>(((hash >> 32) * <u64>shards) >> 32);
}

/**
 * Where a search of a hash in an index begins, by multiply-shift (Dietzfelbinger and others 1997): the highest bits of
 * the product with an odd multiplier; the index has 2^(64 - shift) entries. The hash itself is known, so a sender could
 * choose ids whose hashes share any of their bits. The multiplier is drawn at random, and no sender knows it: two
 * different hashes begin at the same entry with a probability of at most 2 / entries. All rows of a shard are spread,
 * although their hashes share high bits.
 */
@inline export function firstPosition(hash: u64, multiplier: u64, shift: u32): u32 {
  return <u32>((hash * multiplier) >> <u64>shift);
}

/** The last entry of such an index; its number of entries is a power of two, so this is a mask too. */
@inline export function lastPosition(shift: u32): u32 {
  return <u32>(u64.MAX_VALUE >> <u64>shift);
}

/** The shift for an index of `entries` entries, a power of two of at least 2. */
@inline export function shiftFor(entries: u32): u32 {
  return 32 + clz(entries - 1);
}
