/** From pieces of columns to rows of numbers. */
import { expect, test } from 'vitest';
import type { NumberColumn } from '../../../src/data/columns/column.ts';
import { normalizer } from '../../../src/data/columns/numbers.ts';
import { RowMaker } from '../../../src/data/columns/rows.ts';
import { LABEL, number, statisticsOf } from './samples.ts';

const none = Number.NaN;

const makerOf = (columns: readonly NumberColumn[], training: readonly (readonly number[])[]): RowMaker =>
  new RowMaker({ columns: [LABEL, ...columns], statistics: statisticsOf(columns, training) });

const rowsOf = (maker: RowMaker, ...numbers: number[][]): number[] => [
  ...maker.rowsOf({ records: numbers[0]!.length, numbers: numbers.map((of) => Float32Array.from(of)) }),
];

test('a row has the normalized numbers in the order of the columns', () => {
  const columns = [number('b', { normalize: 'standard' }), number('a', { normalize: 'minmax' }), number('c')];
  const maker = makerOf(columns, [
    [1, 3],
    [0, 10],
    [5, 5],
  ]);
  expect(maker.width).toBe(3);
  expect(rowsOf(maker, [1, 3, 5], [0, 5, 20], [7, 8, 9])).toEqual([-1, 0, 7, 1, 0.5, 8, 3, 2, 9]);
});

test('an indicator is behind a number that some training records lack', () => {
  const columns = [number('a'), number('b', { normalize: 'standard' }), number('c')];
  const maker = makerOf(columns, [
    [1, 3, none],
    [1, 3, 5],
    [none, 8, none],
  ]);
  expect(maker.width).toBe(5);
  expect(rowsOf(maker, [4, none], [3, 3], [none, 2])).toEqual([4, 0, 0, 8, 1, 2, 1, 0, 2, 0]);
});

test('without an indicator, one that is missing is the mean', () => {
  const maker = makerOf(
    [number('a', { normalize: 'standard' }), number('b')],
    [
      [1, 3],
      [1, 3],
    ],
  );
  expect(maker.width).toBe(2);
  expect(rowsOf(maker, [none], [none])).toEqual([0, 2]);
});

test('one that counts as zero has no indicator', () => {
  const columns = [number('a', { missing: 'zero' }), number('b', { missing: 'zero', normalize: 'minmax' })];
  const maker = makerOf(columns, [
    [1, none],
    [2, 4],
  ]);
  expect(maker.width).toBe(2);
  expect(rowsOf(maker, [none, 6], [none, 4])).toEqual([0, -1, 6, 1]);
});

test('a column that no training record has is zero, with its indicator', () => {
  const maker = makerOf(
    [number('a', { normalize: 'standard' }), number('b', { normalize: 'minmax' })],
    [
      [none, none],
      [none, none],
    ],
  );
  expect(rowsOf(maker, [none, 2], [none, 3])).toEqual([0, 1, 0, 1, 2, 0, 3, 0]);
});

test('numbers far from those of the training records are bounded, not infinite', () => {
  const known = { name: 'x', present: 3, missing: 0, mean: 0.2, deviation: 0.08, min: 0.1, max: 0.3 };
  for (const normalize of ['standard', 'minmax'] as const) {
    const of = normalizer({ type: 'number', name: 'x', normalize, missing: 'mean' }, known);
    expect([of(3e38), of(-3e38)].map(Math.fround).every(Number.isFinite)).toBe(true);
    expect(of(0.3)).toBeGreaterThan(0.9);
  }
});
