// XXH64 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md). `columns/hash.ts` has the plain form.

const PRIME_1: u64 = 0x9e3779b185ebca87;
const PRIME_2: u64 = 0xc2b2ae3d27d4eb4f;
const PRIME_3: u64 = 0x165667b19e3779f9;
const PRIME_4: u64 = 0x85ebca77c2b2ae63;
const PRIME_5: u64 = 0x27d4eb2f165667c5;

@inline function round(lane: u64, input: u64): u64 {
  return rotl<u64>(lane + input * PRIME_2, 31) * PRIME_1;
}

@inline function mergeRound(hash: u64, lane: u64): u64 {
  return (hash ^ round(0, lane)) * PRIME_1 + PRIME_4;
}

@inline function step8(hash: u64, input: u64): u64 {
  return rotl<u64>(hash ^ round(0, input), 27) * PRIME_1 + PRIME_4;
}

@inline function finish(hash: u64): u64 {
  let x = (hash ^ (hash >> 33)) * PRIME_2;
  x = (x ^ (x >> 29)) * PRIME_3;
  return x ^ (x >> 32);
}

/** Of `length` bytes at `from`. */
@inline export function hash64(from: usize, length: usize, seed: u64): u64 {
  // Most texts are short, and many ids have eight bytes.
  return length == 8 ? hashOf8(load<u64>(from), seed) : hashOfAny(from, length, seed);
}

/** Of the eight bytes of a number, little-endian. */
@inline export function hashOf8(value: u64, seed: u64): u64 {
  return finish(step8(seed + PRIME_5 + 8, value));
}

function hashOfAny(from: usize, length: usize, seed: u64): u64 {
  const end = from + length;
  let at = from;
  let hash = seed + PRIME_5;
  if (length >= 32) {
    let a = seed + PRIME_1 + PRIME_2;
    let b = seed + PRIME_2;
    let c = seed;
    let d = seed - PRIME_1;
    for (; at + 32 <= end; at += 32) {
      a = round(a, load<u64>(at));
      b = round(b, load<u64>(at, 8));
      c = round(c, load<u64>(at, 16));
      d = round(d, load<u64>(at, 24));
    }
    hash = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18);
    hash = mergeRound(mergeRound(mergeRound(mergeRound(hash, a), b), c), d);
  }
  hash += <u64>length;
  for (; at + 8 <= end; at += 8) hash = step8(hash, load<u64>(at));
  if (at + 4 <= end) {
    hash = rotl<u64>(hash ^ (<u64>load<u32>(at) * PRIME_1), 23) * PRIME_2 + PRIME_3;
    at += 4;
  }
  for (; at < end; at++) hash = rotl<u64>(hash ^ (<u64>load<u8>(at) * PRIME_5), 11) * PRIME_1;
  return finish(hash);
}

/** One of `buckets` ids; 0: the hash itself. */
@inline export function foldedId(hash: u64, seed: u64, buckets: u64): u64 {
  return buckets == 0 ? hash : hashOf8(hash % buckets, seed);
}

/** To `out` the id of each of `count` rows of `perRow` ids. */
export function hashRows(ids: usize, count: u32, perRow: u32, seed: u64, buckets: u64, out: usize): void {
  const rowBytes = <usize>perRow << 3;
  for (let row: u32 = 0; row < count; row++) {
    const hash = hash64(ids + <usize>row * rowBytes, rowBytes, seed);
    store<u64>(out + (<usize>row << 3), foldedId(hash, seed, buckets));
  }
}

/** To `out` the id of each of `count` texts: text i is in [starts[i], ends[i]) of `bytes`. */
export function hashSpans(
  bytes: usize,
  starts: usize,
  ends: usize,
  count: u32,
  seed: u64,
  buckets: u64,
  out: usize,
): void {
  for (let i: u32 = 0; i < count; i++) {
    const place = <usize>i << 2;
    const from = load<u32>(starts + place);
    const hash = hash64(bytes + from, load<u32>(ends + place) - from, seed);
    store<u64>(out + (<usize>i << 3), foldedId(hash, seed, buckets));
  }
}

/** Digits of a u64, and a sign. */
const MOST_DIGITS: usize = 20;
const digits = memory.data(32);

/** To `out` the id of each of `count` whole numbers of 64 bits, as its decimal text has it. */
export function hashWholes(numbers: usize, count: u32, isSigned: bool, seed: u64, buckets: u64, out: usize): void {
  const end = digits + MOST_DIGITS;
  for (let i: u32 = 0; i < count; i++) {
    const place = <usize>i << 3;
    const value = load<u64>(numbers + place);
    const isNegative = isSigned && <i64>value < 0;
    let left = isNegative ? 0 - value : value;
    let at = end;
    do {
      store<u8>(--at, <u8>(48 + (left % 10)));
      left /= 10;
    } while (left != 0);
    if (isNegative) store<u8>(--at, 45);
    store<u64>(out + place, foldedId(hash64(at, end - at, seed), seed, buckets));
  }
}
