/** The row hash backwards: what a sender can do that knows the code. */
import { nameHash } from '../../src/tensor/shard-hash.ts';

export const MASK_64 = 2n ** 64n - 1n;

/** The x with x × odd = 1, modulo 2^64. */
export function inverse(odd: bigint): bigint {
  let x = odd;
  for (let bits = 3; bits < 64; bits *= 2) x = (x * (2n - odd * x)) & MASK_64;
  return x;
}

function undoShift(value: bigint, by: bigint): bigint {
  let x = value;
  for (let known = by; known < 64n; known += by) x = value ^ (x >> by);
  return x;
}

const FIRST = inverse(0xbf58_476d_1ce4_e5b9n);
const SECOND = inverse(0x94d0_49bb_1331_11ebn);

/** The number that `mix64` makes this of. */
export function idMixedTo(hash: bigint): bigint {
  let x = (undoShift(hash, 31n) * SECOND) & MASK_64;
  x = (undoShift(x, 27n) * FIRST) & MASK_64;
  return undoShift(x, 30n);
}

/** The id whose row in this table has this hash. */
export const idOfHash = (hash: bigint, table = 'rows'): bigint => idMixedTo(hash) ^ nameHash(table);

/** Inverse of the multiplier of Fibonacci hashing, a usual choice. */
export const GOLDEN = inverse(0x9e37_79b9_7f4a_7c15n);
