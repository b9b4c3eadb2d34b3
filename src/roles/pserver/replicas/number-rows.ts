/** Rows of whole numbers in a segment, u64 little-endian each, with a fixed number of columns. */
import { PaddletError } from '../../../base/errors.ts';

const NUMBER_BYTES = 8;
const WORD = 2 ** 32;
/** Of a safe integer. */
const MOST_HIGH_WORD = 2 ** 21 - 1;

/** `numbers`: row after row. */
export function packRows(numbers: readonly number[]): Uint8Array {
  const words = new Uint32Array(2 * numbers.length);
  for (let at = 0; at < numbers.length; at++) {
    const number = numbers[at]!;
    words[2 * at] = number % WORD;
    words[2 * at + 1] = Math.floor(number / WORD);
  }
  return new Uint8Array(words.buffer);
}

/**
 * Row after row. Throws `BadMessage` for more rows than `most`, for a part of a row, and for a number of more than 53
 * bits.
 */
export function unpackRows(bytes: Uint8Array, columns: number, most: number): Float64Array {
  const rowBytes = NUMBER_BYTES * columns;
  const count = bytes.byteLength / rowBytes;
  if (!Number.isInteger(count) || count > most) {
    throw bad(`${bytes.byteLength} bytes are not up to ${most} rows of ${rowBytes} bytes`);
  }
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const numbers = new Float64Array(count * columns);
  for (let at = 0; at < numbers.length; at++) {
    const high = words[2 * at + 1]!;
    if (high > MOST_HIGH_WORD) throw bad('a number of a row has more than 53 bits');
    numbers[at] = words[2 * at]! + WORD * high;
  }
  return numbers;
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);
