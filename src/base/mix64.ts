/**
 * The finalizer of splitmix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014): a
 * bijection of 64-bit numbers in which every input bit moves every output bit.
 */
const MASK_64 = 0xffff_ffff_ffff_ffffn;

export function mix64(value: bigint): bigint {
  let x = value & MASK_64;
  x = ((x ^ (x >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & MASK_64;
  x = ((x ^ (x >> 27n)) * 0x94d0_49bb_1331_11ebn) & MASK_64;
  return x ^ (x >> 31n);
}
