/** Ids of many values at once: each is that of the plain form. */
import { expect, test } from 'vitest';
import { categoryId, halvesOf, vocabularySeed } from '../../../src/data/columns/hash.ts';
import { idsOfTexts, idsOfWholes } from '../../../src/data/kernels/value-ids.ts';

const SEED = vocabularySeed('v');
const idsAt = (ids: Uint32Array, places: readonly number[]) =>
  places.map((at) => [...ids.subarray(2 * at, 2 * at + 2)]);
const plainId = (text: Uint8Array, buckets?: number) => [...halvesOf(categoryId(text, SEED, buckets))];

test('texts of all lengths, more than fit at a time, with empty ones among them', () => {
  const parts: Uint8Array[] = [];
  const [starts, ends] = [new Uint32Array(70_000), new Uint32Array(70_000)];
  let end = 0;
  for (let at = 0; at < starts.length; at++) {
    if (at % 7 === 3) continue;
    // Bytes between two texts, as the lengths of a page are.
    const text = Buffer.from(`${'x'.repeat(at % 40)}${at}`);
    parts.push(Buffer.from('....'), text);
    starts[at] = end + 4;
    end += 4 + text.length;
    ends[at] = end;
  }
  const bytes = Buffer.concat(parts);
  const places = Array.from({ length: 700 }, (_, at) => 100 * at + (at % 100));
  for (const buckets of [undefined, 9]) {
    const ids = idsOfTexts({ bytes, starts, ends }, SEED, buckets);
    expect(idsAt(ids, places)).toEqual(places.map((at) => plainId(bytes.subarray(starts[at], ends[at]), buckets)));
  }
});

test('one that is longer than what is read at a time', () => {
  const bytes = Buffer.alloc(3 << 20, 'long');
  const [starts, ends] = [Uint32Array.of(0, 5, 9), Uint32Array.of(5, bytes.length, 9)];
  const ids = idsOfTexts({ bytes, starts, ends }, SEED);
  expect(idsAt(ids, [0, 1, 2])).toEqual([0, 1, 2].map((at) => plainId(bytes.subarray(starts[at], ends[at]))));
});

test('an empty one, wherever the others are', () => {
  // Counted from the address of the first text, one at 0 may be at the end of all addresses.
  for (let behind = 1; behind <= 9; behind++) {
    const from = 65_536 + 16 * 64 + behind;
    const bytes = Buffer.alloc(from + 8, 'a');
    const [starts, ends] = [new Uint32Array(64), new Uint32Array(64)];
    [starts[0], ends[0]] = [from, from + 8];
    const ids = idsOfTexts({ bytes, starts, ends }, SEED);
    expect(idsAt(ids, [0, 63])).toEqual([plainId(bytes.subarray(from)), plainId(Buffer.of())]);
  }
});

test('only empty ones, and none', () => {
  const nothing = { bytes: Buffer.of(), starts: new Uint32Array(3), ends: new Uint32Array(3) };
  expect(idsAt(idsOfTexts(nothing, SEED), [0, 2])).toEqual([plainId(Buffer.of()), plainId(Buffer.of())]);
  expect(idsOfTexts({ ...nothing, starts: new Uint32Array(0), ends: new Uint32Array(0) }, SEED)).toHaveLength(0);
  expect(idsOfWholes(new BigInt64Array(0), SEED)).toHaveLength(0);
});

test('whole numbers, by their digits', () => {
  const numbers = [0n, 1n, -1n, 9n, 10n, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n];
  const many = BigInt64Array.from({ length: 66_000 }, (_, at) => numbers[at % 8]! - BigInt(at % 3));
  const ids = idsOfWholes(many, SEED, 11);
  const places = [...numbers.keys(), 65_535, 65_536, 65_999];
  expect(idsAt(ids, places)).toEqual(places.map((at) => plainId(Buffer.from(String(many[at])), 11)));
  const powers = Array.from({ length: 20 }, (_, at) => 10n ** BigInt(at));
  const unsigned = BigUint64Array.from([2n ** 64n - 1n, 2n ** 63n, ...powers.flatMap((power) => [power - 1n, power])]);
  expect(idsAt(idsOfWholes(unsigned, SEED), [...unsigned.keys()])).toEqual(
    [...unsigned].map((id) => plainId(Buffer.from(String(id)))),
  );
});
