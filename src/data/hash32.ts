/**
 * 32 bits that depend on a number of 64 bits and a seed: the finalizer of MurmurHash3 (Appleby), once for each half.
 */
export const hash32 = (low: number, high: number, seed: number): number =>
  mixed(mixed(low ^ seed) ^ Math.imul(high ^ 0x7f4a7c15, 0x9e3779b1));

/** The same of a whole number below 2^53. */
export const hashOfPosition = (position: number, seed: number): number =>
  hash32(position % 4_294_967_296, Math.floor(position / 4_294_967_296), seed);

function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
