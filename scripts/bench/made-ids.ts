/** Distinct ids in no order. */

/**
 * The first `count` of a sequence that meets every 64-bit number once: splitmix64's finalizer of 0, 1, 2, … would do
 * too.
 */
export function shuffledIds(count: number): Uint8Array {
  const halves = new Uint32Array(2 * count);
  // Both halves are bijections of the index: distinct, and without BigInts.
  for (let i = 0; i < count; i++) {
    halves[2 * i] = Math.imul(i, 0x9e37_79b1) ^ (i >>> 15);
    halves[2 * i + 1] = Math.imul(i ^ 0x5bd1_e995, 0x85eb_ca6b);
  }
  return new Uint8Array(halves.buffer);
}
