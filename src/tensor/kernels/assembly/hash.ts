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

/** From the high half; a table's index uses the low half, so that the rows of one shard still spread over it. */
@inline export function shardOfHash(hash: u64, shards: u32): u32 {
  return <u32>(((hash >> 32) * <u64>shards) >> 32);
}
