/**
 * Ids of categories: XXH64 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md) of the text's bytes, seeded with
 * the XXH64 of the vocabulary's name. docs/client.md has the rules and test vectors. This is the plain form; the kernel
 * (`kernels/assembly/hash64.ts`) does the same faster.
 */

const MASK = (1n << 64n) - 1n;
const PRIME_1 = 0x9e3779b185ebca87n;
const PRIME_2 = 0xc2b2ae3d27d4eb4fn;
const PRIME_3 = 0x165667b19e3779f9n;
const PRIME_4 = 0x85ebca77c2b2ae63n;
const PRIME_5 = 0x27d4eb2f165667c5n;

/** No text has this byte: what is missing has a separate id in each vocabulary. */
const MISSING = Uint8Array.of(0xff);

const rotate = (value: bigint, bits: bigint): bigint => ((value << bits) | (value >> (64n - bits))) & MASK;
const round = (lane: bigint, input: bigint): bigint => (rotate((lane + input * PRIME_2) & MASK, 31n) * PRIME_1) & MASK;
const mergeRound = (hash: bigint, lane: bigint): bigint => ((hash ^ round(0n, lane)) * PRIME_1 + PRIME_4) & MASK;

/** XXH64. */
export function hash64(bytes: Uint8Array, seed: bigint): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const u64 = (at: number): bigint => view.getBigUint64(at, true);
  let at = 0;
  let hash = (seed + PRIME_5) & MASK;
  if (bytes.length >= 32) {
    const lanes = [(seed + PRIME_1 + PRIME_2) & MASK, (seed + PRIME_2) & MASK, seed, (seed - PRIME_1) & MASK];
    for (; at + 32 <= bytes.length; at += 32) {
      lanes.forEach((lane, number) => {
        lanes[number] = round(lane, u64(at + 8 * number));
      });
    }
    const [a, b, c, d] = lanes as [bigint, bigint, bigint, bigint];
    hash = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & MASK;
    for (const lane of lanes) hash = mergeRound(hash, lane);
  }
  hash = (hash + BigInt(bytes.length)) & MASK;
  for (; at + 8 <= bytes.length; at += 8) {
    hash = (rotate(hash ^ round(0n, u64(at)), 27n) * PRIME_1 + PRIME_4) & MASK;
  }
  if (at + 4 <= bytes.length) {
    hash = (rotate(hash ^ ((BigInt(view.getUint32(at, true)) * PRIME_1) & MASK), 23n) * PRIME_2 + PRIME_3) & MASK;
    at += 4;
  }
  for (; at < bytes.length; at++) hash = (rotate(hash ^ ((BigInt(bytes[at]!) * PRIME_5) & MASK), 11n) * PRIME_1) & MASK;
  hash = ((hash ^ (hash >> 33n)) * PRIME_2) & MASK;
  hash = ((hash ^ (hash >> 29n)) * PRIME_3) & MASK;
  return hash ^ (hash >> 32n);
}

export type Halves = readonly [low: number, high: number];

/** An id as batches have it. */
export const halvesOf = (id: bigint): Halves => [Number(id & 0xffffffffn), Number(id >> 32n)];

/** The seed of all ids of a vocabulary. */
export const vocabularySeed = (name: string): bigint => hash64(Buffer.from(name), 0n);

/** The id of a value; `text` as UTF-8 bytes. */
export const categoryId = (text: Uint8Array, seed: bigint, buckets?: number): bigint =>
  foldedId(hash64(text, seed), seed, buckets);

/** The id of a record that has no value. */
export const missingId = (seed: bigint): bigint => hash64(MISSING, seed);

/** The id of a whole number in a vocabulary: a bucket of a number. */
export const numberedId = (value: bigint, seed: bigint): bigint => hash64(u64Bytes([value]), seed);

/** The id of a combination of values, from theirs; `seed` is that of the cross. */
export const crossId = (ids: readonly bigint[], seed: bigint, buckets?: number): bigint =>
  foldedId(hash64(u64Bytes(ids), seed), seed, buckets);

/** The id of a hash: one of `buckets` ids, if there are buckets. */
const foldedId = (hash: bigint, seed: bigint, buckets?: number): bigint =>
  buckets === undefined ? hash : numberedId(hash % BigInt(buckets), seed);

function u64Bytes(values: readonly bigint[]): Uint8Array {
  const bytes = Buffer.alloc(8 * values.length);
  values.forEach((value, at) => {
    bytes.writeBigUInt64LE(value, 8 * at);
  });
  return bytes;
}
