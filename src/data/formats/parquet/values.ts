/** What the values of a column are gathered in. */
import type { Encoding } from 'hyparquet';
import { Fault } from './fault.ts';

export interface Spans {
  readonly kind: 'bytes';
  readonly bytes: Uint8Array;
  /** For each value, where it is in `bytes`: there may be other bytes in between. Both are 0 for a null. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export type Numbers =
  | { readonly kind: 'bool'; readonly array: Uint8Array }
  | { readonly kind: 'i32'; readonly array: Int32Array }
  | { readonly kind: 'u32'; readonly array: Uint32Array }
  | { readonly kind: 'i64'; readonly array: BigInt64Array }
  | { readonly kind: 'u64'; readonly array: BigUint64Array }
  | { readonly kind: 'f32'; readonly array: Float32Array }
  | { readonly kind: 'f64'; readonly array: Float64Array };

export type Values = Numbers | Spans;

export const countOf = (values: Values): number =>
  values.kind === 'bytes' ? values.starts.length : values.array.length;

export interface ValueBuilder {
  readonly count: number;
  /** Decodes `count` more. Throws a `Fault`. */
  append(encoding: Encoding, bytes: Uint8Array, count: number): void;
  /** Moves the last values, so that each is where `present` is not 0: the others are zero. */
  spread(present: Uint8Array, values: number): void;
  finish(): Values;
}

/** Values of `width` bytes each, one after the other. */
export function fixedBytes(encoding: Encoding, bytes: Uint8Array, count: number, width: number): Uint8Array {
  const total = count * width;
  if (encoding !== 'PLAIN' && encoding !== 'BYTE_STREAM_SPLIT') throw unknownEncoding(encoding);
  if (bytes.length < total) throw new Fault(`it has ${bytes.length} bytes of values, and needs ${total}`);
  if (encoding === 'PLAIN') return bytes.subarray(0, total);
  // All first bytes, all second ones, and so on.
  const joined = new Uint8Array(total);
  for (let byte = 0, from = 0; byte < width; byte++) {
    for (let to = byte; to < total; to += width) joined[to] = bytes[from++]!;
  }
  return joined;
}

/** Backwards, in place: no value is overwritten before it has moved. */
export function spreadWords(
  words: Uint8Array | Uint32Array,
  stride: 1 | 2,
  first: number,
  values: number,
  present: Uint8Array,
): void {
  let from = first + values;
  for (let at = present.length - 1; at >= 0; at--) {
    const isPresent = present[at] !== 0;
    if (isPresent) from -= 1;
    for (let word = 0; word < stride; word++) {
      words[stride * (first + at) + word] = isPresent ? words[stride * from + word]! : 0;
    }
  }
}

export function lengthAt(bytes: Uint8Array, at: number): number {
  if (bytes.length < at + 4) throw new Fault('it ends within a length');
  const length = new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true);
  if (length > bytes.length - at - 4) throw new Fault(`a part of it cannot have ${length} bytes`);
  return length;
}

export const unknownEncoding = (encoding: unknown): Fault => new Fault(`its encoding ${encoding} cannot be read`);
