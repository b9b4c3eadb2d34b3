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

/** Hash of `length` bytes at `from`. */
@inline export function hash64(from: usize, length: usize, seed: u64): u64 {
  // Most texts are short, and many ids have eight bytes.
  return length == 8 ? hashOf8(load<u64>(from), seed) : hashOfAny(from, length, seed);
}

/** Hash of the eight bytes of a number, little-endian. */
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

/**
 * To `out` the id of each of `count` texts: text i is in [starts[i], ends[i]) of `bytes`, which may be before the
 * memory, as long as the texts are in it that are not empty.
 */
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
    const length = load<u32>(ends + place) - from;
    // An empty one may be anywhere: a load that is not needed may be made anyway.
    const hash = hash64(length == 0 ? out : bytes + from, length, seed);
    store<u64>(out + (<usize>i << 3), foldedId(hash, seed, buckets));
  }
}

const HUNDRED_MILLIONS: u64 = 100_000_000;
const ZEROS: u64 = 0x3030303030303030;
/** Numbers that are written before their texts are hashed: bytes that were just written are slow to read. */
const WRITTEN: u32 = 64;
/** Places in a text: room for a sign, and three times eight digits, more than a u64 has. */
const FIRST_DIGIT: usize = 8;
const TEXT_BYTES: usize = FIRST_DIGIT + 24;
const texts = memory.data(2048);
/** Where each text begins. */
const begins = memory.data(256);

/**
 * The decimal digits of a number below 10^8, each in a byte, the first one lowest: those of halves, then of pairs, then
 * single ones, all at the same time. The factors divide by 100 and by 10 exactly for numbers that small.
 */
@inline function eightDigits(value: u32): u64 {
  const high = value / 10_000;
  const halves = (<u64>(value - 10_000 * high) << 32) | high;
  const hundreds = ((halves * 10_486) >> 20) & 0x0000007f_0000007f;
  const pairs = ((halves - 100 * hundreds) << 16) + hundreds;
  const tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
  return tens + ((pairs - 10 * tens) << 8);
}

/** To the end of the room for a text at `to`; where the text begins. */
@inline function writeWhole(value: u64, isNegative: bool, to: usize): usize {
  const left = value / HUNDRED_MILLIONS;
  const high = left / HUNDRED_MILLIONS;
  const a = eightDigits(<u32>high);
  const b = eightDigits(<u32>(left - high * HUNDRED_MILLIONS));
  const c = eightDigits(<u32>(value - left * HUNDRED_MILLIONS));
  const first = to + FIRST_DIGIT;
  store<u64>(first, a | ZEROS);
  store<u64>(first, b | ZEROS, 8);
  store<u64>(first, c | ZEROS, 16);
  // For 0, the last digit counts.
  const zeros: u64 = a != 0 ? ctz(a) >> 3 : b != 0 ? 8 + (ctz(b) >> 3) : c != 0 ? 16 + (ctz(c) >> 3) : 23;
  let at = first + <usize>zeros;
  if (isNegative) store<u8>(--at, 45);
  return at;
}

/** To `out` the id of each of `count` whole numbers of 64 bits, as its decimal text has it. */
export function hashWholes(numbers: usize, count: u32, isSigned: bool, seed: u64, buckets: u64, out: usize): void {
  for (let from: u32 = 0; from < count; from += WRITTEN) {
    const to = min(count, from + WRITTEN);
    for (let i = from; i < to; i++) {
      const value = load<u64>(numbers + (<usize>i << 3));
      const isNegative = isSigned && <i64>value < 0;
      const text = texts + <usize>(i - from) * TEXT_BYTES;
      const begin = writeWhole(isNegative ? 0 - value : value, isNegative, text);
      store<u32>(begins + (<usize>(i - from) << 2), <u32>begin);
    }
    for (let i = from; i < to; i++) {
      const begin = <usize>load<u32>(begins + (<usize>(i - from) << 2));
      const end = texts + <usize>(i - from + 1) * TEXT_BYTES;
      store<u64>(out + (<usize>i << 3), foldedId(hash64(begin, end - begin, seed), seed, buckets));
    }
  }
}
