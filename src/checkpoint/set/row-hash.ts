/**
 * A digest of a set of rows or blocks that does not depend on their order: the sum, modulo 2^64, of a 64-bit hash of
 * each. It shows what was lost, doubled or changed by accident when shards are distributed again; it is no defense
 * against intent.
 *
 * Two 32-bit lanes, multiplied and rotated for each word, with the finalizer of MurmurHash3 (Appleby, 2011) at the end.
 */
const PRIME_A = 0x9e37_79b1;
const PRIME_B = 0x85eb_ca77;

export interface RowHash {
  a: number;
  b: number;
}

/** Mixes words `from` to `to` into a hash. */
export function mixWords(hash: RowHash, words: Uint32Array, from: number, to: number): void {
  let { a, b } = hash;
  for (let at = from; at < to; at++) {
    const word = words[at]!;
    a = Math.imul(a ^ word, PRIME_A);
    a = (a << 13) | (a >>> 19);
    b = Math.imul((b + word) | 0, PRIME_B);
    b = (b << 17) | (b >>> 15);
  }
  hash.a = a;
  hash.b = b;
}

function finalize(value: number): number {
  let h = value;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85eb_ca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2_ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** The sum over a set. */
export class SetDigest {
  #low = 0;
  #high = 0;

  add({ a, b }: RowHash): void {
    const low = this.#low + finalize(a ^ Math.imul(b, PRIME_A));
    this.#high = (this.#high + finalize(b ^ Math.imul(a, PRIME_B)) + (low > 0xffff_ffff ? 1 : 0)) >>> 0;
    this.#low = low >>> 0;
  }

  /** Sixteen hexadecimal digits. */
  text(): string {
    return this.#high.toString(16).padStart(8, '0') + this.#low.toString(16).padStart(8, '0');
  }
}
