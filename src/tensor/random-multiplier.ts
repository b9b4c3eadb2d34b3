import { randomFillSync } from 'node:crypto';

/** Drawn together: a call for eight bytes costs as much as one for all of these. */
const drawn = new BigUint64Array(256);
let left = 0;

/**
 * An odd multiplier of 64 bits for a hash table in the kernels (`kernels/assembly/hash.ts`). Ids come from others, who
 * know all other hashes: with this one, no list of ids costs more than another, expected over what is drawn. It decides
 * where an entry is, never an answer.
 */
export function randomMultiplier(): bigint {
  if (left === 0) {
    randomFillSync(drawn);
    left = drawn.length;
  }
  left -= 1;
  return drawn[left]! | 1n;
}
