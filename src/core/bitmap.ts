import { assert } from '../base/assert.ts';

/** A set of integers from 0 to `size` − 1, one bit each. */
export interface Bitmap {
  readonly size: number;
  has(index: number): boolean;
  add(index: number): void;
  count(): number;
  readonly words: Uint8Array;
}

export function createBitmap(size: number, words: Uint8Array = new Uint8Array((size + 7) >> 3)): Bitmap {
  return {
    size,
    words,
    has: (index) => ((words[index >> 3] ?? 0) & (1 << (index & 7))) !== 0,
    add(index) {
      assert(index >= 0 && index < size, `${index} is below ${size}`);
      words[index >> 3] = (words[index >> 3] ?? 0) | (1 << (index & 7));
    },
    count() {
      let total = 0;
      for (let byte of words) for (; byte !== 0; byte &= byte - 1) total += 1;
      return total;
    },
  };
}

/** Lower-case hex, two digits a byte, lowest indexes first. */
export const bitmapToText = (bitmap: Bitmap): string =>
  Array.from(bitmap.words, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Undefined when the text is not a bitmap of `size`, or has bits beyond it. */
export function bitmapFromText(text: string, size: number): Bitmap | undefined {
  const bytes = (size + 7) >> 3;
  if (text.length !== bytes * 2 || !/^[0-9a-f]*$/.test(text)) return undefined;
  const words = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) words[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  const spare = bytes * 8 - size;
  if (bytes > 0 && spare > 0 && (words[bytes - 1] ?? 0) >> (8 - spare) !== 0) return undefined;
  return createBitmap(size, words);
}
