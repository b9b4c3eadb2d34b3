/** Rows of whole numbers in a segment, u64 little-endian each, with a fixed number of columns. */
import { PaddletError } from '../../../base/errors.ts';

const NUMBER_BYTES = 8;
const WORD = 2 ** 32;
/** Of a safe integer. */
const MOST_HIGH_WORD = 2 ** 21 - 1;

export function packRows(rows: readonly (readonly number[])[]): Uint8Array {
  const numbers = rows.flat();
  const words = new Uint32Array(2 * numbers.length);
  numbers.forEach((number, at) => {
    words[2 * at] = number % WORD;
    words[2 * at + 1] = Math.floor(number / WORD);
  });
  return new Uint8Array(words.buffer);
}

/** Throws `BadMessage` for more rows than `most`, for a part of a row, and for a number of more than 53 bits. */
export function unpackRows(bytes: Uint8Array, columns: number, most: number): number[][] {
  const rowBytes = NUMBER_BYTES * columns;
  const count = bytes.byteLength / rowBytes;
  if (!Number.isInteger(count) || count > most) {
    throw bad(`${bytes.byteLength} bytes are not up to ${most} rows of ${rowBytes} bytes`);
  }
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  return Array.from({ length: count }, (_, row) =>
    Array.from({ length: columns }, (_, column) => numberAt(words, 2 * (row * columns + column))),
  );
}

function numberAt(words: Uint32Array, at: number): number {
  const high = words[at + 1]!;
  if (high > MOST_HIGH_WORD) throw bad('a number of a row has more than 53 bits');
  return words[at]! + WORD * high;
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);
