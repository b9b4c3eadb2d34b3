/**
 * Frame headers: plain CBOR (RFC 8949) that any library reads. Written and read by cbor-x with its extensions off.
 *
 * Before cbor-x sees bytes from outside, `checkCbor` walks them. It admits only definite lengths, no tags, text keys,
 * each once in its map, integers from -2^31 to 2^53 - 1 and bounded depth, so an announced length can never ask for
 * more memory than bytes came.
 */
import { Encoder } from 'cbor-x';

/** Arrays and maps inside each other. */
export const CBOR_MAX_DEPTH = 32;

// `int64AsNumber` is missing in the types: without it, 8-byte integers become BigInts.
const options = {
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  tagUint8Array: false,
  int64AsNumber: true,
  // Byte strings do not refer to memory that the next read fills.
  copyBuffers: true,
};
const codec = new Encoder(options);

/** Throws when `value` holds what a header may not (a Date, a Set, a huge bigint): a bug of the caller. */
export function encodeCbor(value: unknown): Uint8Array {
  const bytes = codec.encode(value);
  checkCbor(bytes);
  return bytes;
}

/** Decodes one value that fills `bytes` exactly. Throws an `Error` saying what is wrong, with the byte it is at. */
export function decodeCbor(bytes: Uint8Array): unknown {
  const end = checkCbor(bytes);
  if (end !== bytes.length) throw new Error(`${bytes.length - end} bytes follow the value`);
  return codec.decode(bytes);
}

const utf8 = new TextDecoder();
const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6, simple: 7 } as const;
const SIMPLE_LENGTHS: Readonly<Record<number, number>> = { 20: 0, 21: 0, 22: 0, 23: 0, 25: 2, 26: 4, 27: 8 };

interface Head {
  readonly major: number;
  /** Length, count or value; not a number for `simple`. */
  readonly argument: number;
  /** Where the content begins. */
  readonly next: number;
}

/** Walks the value at the start of `bytes` and returns where it ends. Throws like `decodeCbor`. */
export function checkCbor(bytes: Uint8Array): number {
  const walk = (at: number, depth: number): number => {
    if (depth > CBOR_MAX_DEPTH) throw new Error(`more than ${CBOR_MAX_DEPTH} levels deep at byte ${at}`);
    const { major, argument, next } = head(bytes, at);
    switch (major) {
      case MAJOR.unsigned:
        if (argument > Number.MAX_SAFE_INTEGER) throw new Error(`integer at byte ${at} is 2^53 or more`);
        return next;
      case MAJOR.negative:
        // Further down cbor-x would compute with 32 bits.
        if (argument >= 2 ** 31) throw new Error(`integer at byte ${at} is under -2^31`);
        return next;
      case MAJOR.simple:
        return next;
      case MAJOR.bytes:
      case MAJOR.text:
        if (argument > bytes.length - next) throw new Error(`string at byte ${at} runs past the end`);
        return next + argument;
      case MAJOR.array:
        return items(argument, next, at, depth, false);
      case MAJOR.map:
        return items(argument, next, at, depth, true);
      default:
        throw new Error(`tag at byte ${at}`);
    }
  };
  const items = (count: number, from: number, at: number, depth: number, isMap: boolean): number => {
    // Every item takes a byte at least.
    if (count * (isMap ? 2 : 1) > bytes.length - from) throw new Error(`count at byte ${at} runs past the end`);
    const keys = new Set<string>();
    let next = from;
    for (let i = 0; i < count; i++) {
      if (isMap) next = key(next, depth, keys);
      next = walk(next, depth + 1);
    }
    return next;
  };
  /** Readers differ in which of two values they take: so neither is taken. */
  const key = (at: number, depth: number, before: Set<string>): number => {
    if (at >= bytes.length || bytes[at]! >> 5 !== MAJOR.text) throw new Error(`key at byte ${at} is not text`);
    const end = walk(at, depth + 1);
    const text = utf8.decode(bytes.subarray(head(bytes, at).next, end));
    if (before.has(text)) throw new Error(`key at byte ${at} is repeated`);
    before.add(text);
    return end;
  };
  return walk(0, 0);
}

function head(bytes: Uint8Array, at: number): Head {
  if (at >= bytes.length) throw new Error(`value at byte ${at} is missing`);
  const initial = bytes[at]!;
  const major = initial >> 5;
  const low = initial & 31;
  if (major === MAJOR.simple) {
    const length = SIMPLE_LENGTHS[low];
    if (length === undefined) throw new Error(`simple value ${low} at byte ${at}`);
    if (at + 1 + length > bytes.length) throw new Error(`number at byte ${at} runs past the end`);
    return { major, argument: Number.NaN, next: at + 1 + length };
  }
  if (low < 24) return { major, argument: low, next: at + 1 };
  if (low > 27) throw new Error(`indefinite or reserved length at byte ${at}`);
  const width = 1 << (low - 24);
  if (at + 1 + width > bytes.length) throw new Error(`length at byte ${at} runs past the end`);
  let argument = 0;
  for (let i = 1; i <= width; i++) argument = argument * 256 + bytes[at + i]!;
  return { major, argument, next: at + 1 + width };
}
