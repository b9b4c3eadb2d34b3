/** XXH64 in its plain form and in the kernel, against another implementation and published values. */
import { expect, test } from 'vitest';
import xxhash from 'xxhash-wasm';
import { categoryId, crossId, hash64, missingId, numberedId, vocabularySeed } from '../../../src/data/columns/hash.ts';
import { crossIds } from '../../../src/data/kernels/cross-ids.ts';
import * as fc from '../../properties.ts';

const { h64Raw } = await xxhash();

const seeds = [0n, 1n, 2n, 0x9e3779b185ebca87n, (1n << 63n) - 1n, (1n << 64n) - 1n];
/** Bytes that are no pattern of any word. */
const bytesOf = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => (at * 167 + (at >> 3) * 31) & 255);
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });

function halvesOf(ids: readonly bigint[]): Uint32Array {
  return new Uint32Array(BigUint64Array.from(ids).buffer);
}

test.each([
  ['', 0n, 0xef46db3751d8e999n],
  ['a', 0n, 0xd24ec4f1a98c6e5bn],
  ['abc', 0n, 0x44bc2cf5ad770999n],
  ['xxhash', 0n, 0x32dd38952c4bc720n],
  ['xxhash', 20_141_025n, 0xb559b98d844e0635n],
])('the published hash of "%s", seed %d', (text, seed, expected) => {
  expect(hash64(Buffer.from(text), seed)).toBe(expected);
});

test('each length up to 200 bytes, wherever the text begins', () => {
  for (let length = 0; length <= 200; length++) {
    const bytes = bytesOf(length);
    const within = new Uint8Array(length + 3);
    within.set(bytes, 3);
    for (const seed of seeds) {
      const expected = h64Raw(bytes, seed);
      expect(hash64(bytes, seed)).toBe(expected);
      expect(hash64(within.subarray(3), seed)).toBe(expected);
    }
  }
});

test('ids in a vocabulary', () => {
  const seed = vocabularySeed('city');
  expect(seed).toBe(h64Raw(Buffer.from('city'), 0n));
  expect(categoryId(Buffer.from('Oslo'), seed)).toBe(h64Raw(Buffer.from('Oslo'), seed));
  expect(missingId(seed)).toBe(h64Raw(Uint8Array.of(255), seed));
  expect(numberedId(7n, seed)).toBe(h64Raw(Uint8Array.of(7, 0, 0, 0, 0, 0, 0, 0), seed));
  const bucket = h64Raw(Buffer.from('Oslo'), seed) % 10n;
  expect(categoryId(Buffer.from('Oslo'), seed, 10)).toBe(numberedId(bucket, seed));
});

test('combinations of ids, in the kernel as in the plain form', () => {
  const row = fc.integer({ min: 1, max: 9 });
  fc.assert(
    fc.property(
      row,
      fc.nat(20),
      u64,
      fc.option(fc.integer({ min: 1 }), { nil: undefined }),
      u64,
      (perRow, count, seed, buckets, salt) => {
        const idOf = (record: number, part: number): bigint =>
          BigInt.asUintN(64, salt * BigInt(1 + record * perRow + part));
        const parts = Array.from({ length: perRow }, (_, part) =>
          halvesOf(Array.from({ length: count }, (_, record) => idOf(record, part))),
        );
        const expected = Array.from({ length: count }, (_, record) =>
          crossId(
            Array.from({ length: perRow }, (_, part) => idOf(record, part)),
            seed,
            buckets,
          ),
        );
        expect(crossIds(parts, count, seed, buckets)).toEqual(halvesOf(expected));
      },
    ),
  );
});

test('more combinations than the kernel takes at a time', () => {
  const count = 70_000;
  const ids = Array.from({ length: count }, (_, record) => BigInt(record));
  const crossed = crossIds([halvesOf(ids), halvesOf(ids)], count, 5n, 1000);
  for (const record of [0, 1, 16_383, 32_767, 32_768, 69_999]) {
    const halves = crossed.slice(2 * record, 2 * record + 2);
    expect(halves).toEqual(halvesOf([crossId([BigInt(record), BigInt(record)], 5n, 1000)]));
  }
});
