/** Sorts numbered u32 keys in steps: ten million at once would hold their thread for seconds. */
import { inPieces, type Steps } from '../base/steps.ts';

/** Pairs of u32: a number at 2n, its key at 2n + 1. */
export type NumberedKeys = Uint32Array<ArrayBuffer>;

const DIGIT_BITS = 11;
const DIGITS = 2 ** DIGIT_BITS;

/**
 * In ascending order of keys; equal keys keep their order. By digits, the lowest first. What it returns is `pairs` or
 * another array; the content of `pairs` is lost.
 */
export function* sortedByKey(pairs: NumberedKeys): Steps<NumberedKeys> {
  const length = pairs.length / 2;
  let from = pairs;
  let to = new Uint32Array(pairs.length);
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    const places = new Uint32Array(DIGITS);
    yield* inPieces(length, (first, end) => countDigits(from, shift, places, first, end));
    if (places.includes(length)) continue;
    let before = 0;
    for (let digit = 0; digit < DIGITS; digit++) {
      const count = places[digit]!;
      places[digit] = before;
      before += count;
    }
    yield* inPieces(length, (first, end) => moveByDigit(from, to, shift, places, first, end));
    [from, to] = [to, from];
  }
  return from;
}

function countDigits(pairs: NumberedKeys, shift: number, counts: Uint32Array, first: number, end: number): void {
  for (let at = first; at < end; at++) counts[(pairs[2 * at + 1]! >>> shift) & (DIGITS - 1)]! += 1;
}

function moveByDigit(
  pairs: NumberedKeys,
  into: NumberedKeys,
  shift: number,
  places: Uint32Array,
  first: number,
  end: number,
): void {
  for (let at = first; at < end; at++) {
    const key = pairs[2 * at + 1]!;
    const place = places[(key >>> shift) & (DIGITS - 1)]!++;
    into[2 * place] = pairs[2 * at]!;
    into[2 * place + 1] = key;
  }
}
