/** Numbers and ids as the kernel reads them, against JavaScript's own. */

import { describe, expect, test } from 'vitest';
import { createIdDictionary } from '../../../src/base/id-dictionary.ts';
import { READ, SparseKernel } from '../../../src/data/kernels/sparse-kernel.ts';
import type { SparsePiece } from '../../../src/data/piece.ts';
import * as fc from '../../properties.ts';

const kernel = new SparseKernel();
const LINES = { labels: { task: 'regression' }, hasFields: false } as const;

function read(text: string) {
  kernel.begin(Buffer.from(text), LINES);
  const { status, piece } = kernel.next(1000);
  return { status, ...piece.features };
}

/** As bits; undefined when the kernel leaves the line to the plain parser. */
function bitsOf(text: string): number | undefined {
  const { status, values, features } = read(`1 5:${text}\n`);
  if (status === READ.unusual) return undefined;
  expect(features).toBe(1);
  return bits(values?.[0] ?? 1);
}

const bits = (value: number): number => new Uint32Array(Float32Array.of(value).buffer)[0]!;

/** Numbers that lie between two f32, or next to such a place. */
const nearMiddle = fc
  .tuple(fc.integer({ min: 0, max: 0x7f7ffffe }), fc.integer({ min: -2, max: 2 }))
  .map(([pattern, steps]) => {
    const low = new Float32Array(Uint32Array.of(pattern).buffer)[0]!;
    const high = new Float32Array(Uint32Array.of(pattern + 1).buffer)[0]!;
    const middle = new BigInt64Array(Float64Array.of((low + high) / 2).buffer);
    middle[0]! += BigInt(steps);
    return String(new Float64Array(middle.buffer)[0]!);
  });

const decimal = fc
  .tuple(
    fc.bigInt({ min: 0n, max: 10n ** 19n - 1n }),
    fc.integer({ min: -25, max: 25 }),
    fc.constantFrom('e', 'E', 'e+'),
  )
  .map(([digits, exponent, e]) => `${digits}${exponent < 0 ? e[0] : e}${exponent}`);

const pointed = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 17n }), fc.nat(20))
  .map(([digits, places]) => `0.${'0'.repeat(places)}${digits}`);

describe('numbers', () => {
  test.each([
    ['as doubles are printed', fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)],
    ['as floats are printed', fc.float({ noNaN: true, noDefaultInfinity: true }).map(String)],
    ['next to the middle of two f32', nearMiddle],
    ['with an exponent', decimal],
    ['with zeros behind the point', pointed],
    ['of few digits', fc.tuple(fc.nat(99_999), fc.nat(999_999)).map(([whole, part]) => `-${whole}.${part}`)],
  ])('%s have the bits of the rounded f64, or are left', (_, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const got = bitsOf(text);
        if (got !== undefined) expect(got).toBe(bits(Number(text)));
      }),
      { numRuns: 3000 },
    );
  });

  test.each(['0', '1', '-1', '+3', '.5', '5.', '0.1', '1e3', '2.5E-3', '123456.789', '0.12345678901234567', '3.4e38'])(
    '%s is read here',
    (text) => {
      expect(bitsOf(text)).toBe(bits(Number(text)));
    },
  );

  test.each([
    '',
    '.',
    '+',
    '-',
    'e5',
    '1e',
    '1e+',
    '1.2.3',
    'nan',
    'inf',
    '0x10',
    '1_000',
    '1e39',
    '12345678901234567890',
    // 2^64, which is 0 in 64 bits.
    '18446744073709551616',
    '1.8446744073709551616000',
    '0.018446744073709551616',
  ])('"%s" is left', (text) => {
    expect(bitsOf(text)).toBeUndefined();
  });
});

describe('ids', () => {
  test.each(['0', '9', '18446744073709551615', '10000000000000000000', '9999999999999999999', '0000000000000000001'])(
    '%s is read here',
    (text) => {
      const { ids, status } = read(`1 ${text}:1\n`);
      expect(status).toBe(READ.done);
      expect(Buffer.from(ids).readBigUInt64LE()).toBe(BigInt(text));
    },
  );

  test.each([
    '18446744073709551616',
    '20000000000000000000',
    '99999999999999999999',
    '000000000000000000001',
    '',
    '-1',
  ])('"%s" is left', (text) => {
    expect(read(`1 ${text}:1\n`).status).toBe(READ.unusual);
  });

  test('are numbered in order of first appearance, in place and from pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(20), fc.nat()), { minLength: 1, maxLength: 200 }), (list) => {
        const dictionary = createIdDictionary();
        const places = list.map((id) => dictionary.indexOf(id, 0));
        const ids = [...dictionary.halves.slice(0, 2 * dictionary.size)];
        const given = read(`1 ${list.map((id) => `${id}:1`).join(' ')}\n`).ids.slice();
        const found = kernel.distinctOf([given.slice(0, 8), given.slice(8)], list.length);
        expect([[...found.places], [...new Uint32Array(found.ids.slice().buffer)]]).toEqual([places, ids]);
        const again = read(`1 ${list.map((id) => `${id}:1`).join(' ')}\n`);
        expect(again.features).toBe(list.length);
        const inPlace = kernel.distinctOfLast(list.length);
        expect([[...inPlace.places], [...new Uint32Array(inPlace.ids.slice().buffer)]]).toEqual([places, ids]);
      }),
      { numRuns: 200 },
    );
  });
});

test('records up to a number, and the rest later', () => {
  const text = '1 1:1\n\n# c\n2 2:1 3:2\n3';
  kernel.begin(Buffer.from(text), LINES);
  const { status, piece } = kernel.next(1);
  const placesOf = ({ lines, starts, ends, features }: SparsePiece) =>
    [lines, starts, ends, features.ends].map((words) => [...words]);
  expect([status, piece.records, placesOf(piece)]).toEqual([READ.full, 1, [[0], [0], [6], [1]]]);
  const rest = kernel.next(5);
  expect([rest.status, [...rest.piece.labels]]).toEqual([READ.done, [2, 3]]);
  // The last line lacks its line break.
  expect(placesOf(rest.piece)).toEqual([
    [3, 4],
    [11, 21],
    [21, 22],
    [2, 2],
  ]);
  expect([kernel.lines, kernel.at]).toEqual([5, 22]);
  expect(kernel.next(0).status).toBe(READ.done);
});
