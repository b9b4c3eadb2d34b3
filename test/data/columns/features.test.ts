/** From pieces of columns to features by id. */
import { describe, expect, test } from 'vitest';
import { type Column, fieldsOf, type NumberColumn } from '../../../src/data/columns/column.ts';
import { FeatureMaker } from '../../../src/data/columns/features.ts';
import { categoryId, crossId, missingId, numberedId, vocabularySeed } from '../../../src/data/columns/hash.ts';
import { category, cross, idsOf, LABEL, list, number, pieceWith, type Sample, statisticsOf } from './samples.ts';

const numberId = (name: string): bigint => categoryId(new Uint8Array(0), vocabularySeed(name));
const partId = (name: string, part: number): bigint => numberedId(BigInt(part), vocabularySeed(name));
const missing = (name: string): bigint => missingId(vocabularySeed(name));

/** `training`: values of each number column, in the order of the columns. */
function makerOf(columns: readonly Column[], ...training: number[][]): FeatureMaker {
  const numbers = columns.filter((column): column is NumberColumn => column.type === 'number');
  return new FeatureMaker({ columns, statistics: numbers.length === 0 ? [] : statisticsOf(numbers, training) });
}

function featuresOf(columns: readonly Column[], sample: Sample, ...training: number[][]) {
  const { count, ends, ids, values } = makerOf(columns, ...training).featuresOf(pieceWith(columns, sample));
  expect([...ends]).toEqual([count]);
  expect(ids).toHaveLength(2 * count);
  if (values !== undefined) expect(values).toHaveLength(count);
  return { ids: idsOf(ids), values: values && [...values] };
}

/** The value that a number gets. */
const normalized = (normalize: NumberColumn['normalize'], training: number[], value: number): number =>
  featuresOf([number('x', { normalize })], { x: value }, training).values![0]!;

describe('features of a record', () => {
  test('are in the order of the columns, whatever their types', () => {
    const columns = [
      list('tags'),
      number('age'),
      LABEL,
      category('sex'),
      cross('both', ['sex', 'shop']),
      category('shop'),
    ];
    expect(featuresOf(columns, { tags: [11n, 12n], age: 3, sex: 21n, shop: 2n ** 64n - 1n }, [3])).toEqual({
      ids: [11n, 12n, numberId('age'), 21n, crossId([21n, 2n ** 64n - 1n], vocabularySeed('both')), 2n ** 64n - 1n],
      values: [1, 1, 3, 1, 1, 1],
    });
  });

  test('have no values when there is no number among them', () => {
    const columns = [category('a'), number('b', { quantiles: 2 }), list('c'), cross('d', ['a', 'b'])];
    expect(featuresOf(columns, { a: 1n, b: 1, c: [7n] }, [1, 2]).values).toBeUndefined();
  });

  test('of several records end one after the other', () => {
    const columns = [list('tags'), number('x')];
    const piece = {
      ...pieceWith(columns, { x: 1 }),
      records: 3,
      numbers: [Float32Array.of(1, Number.NaN, 3)],
      lists: [{ starts: Uint32Array.of(0, 2, 2), ends: Uint32Array.of(2, 2, 3) }],
      listIds: Uint32Array.of(5, 0, 6, 0, 7, 1),
    };
    const { ends, ids, values, count } = makerOf(columns, [1, 3]).featuresOf(piece);
    expect([...ends]).toEqual([3, 5, 7]);
    expect(count).toBe(7);
    const x = numberId('x');
    expect(idsOf(ids)).toEqual([5n, 6n, x, x, missing('x'), 2n ** 32n + 7n, x]);
    expect([...values!]).toEqual([1, 1, 1, 2, 1, 1, 3]);
  });

  test('are of the field of their column, with what says that a number is missing', () => {
    const columns = [
      LABEL,
      list('tags'),
      category('sex'),
      number('x'),
      cross('both', ['sex', 'shop']),
      category('shop'),
    ];
    const piece = {
      ...pieceWith(columns, { x: 1, sex: 1n, shop: 2n, tags: [1n, 2n] }),
      records: 2,
      numbers: [Float32Array.of(1, Number.NaN)],
      single: [Uint32Array.of(1, 0, 2, 0), Uint32Array.of(3, 0, 4, 0)],
      lists: [{ starts: Uint32Array.of(0, 2), ends: Uint32Array.of(2, 2) }],
    };
    const maker = makerOf(columns, [1, 3]);
    expect([...maker.featuresOf(piece, true).fields!]).toEqual([0, 0, 1, 2, 3, 4, 1, 2, 2, 3, 4]);
    expect(maker.featuresOf(piece).fields).toBeUndefined();
    expect(fieldsOf(columns)).toBe(5);
  });

  test('are no more than was said', () => {
    const columns = [
      number('x'),
      number('y'),
      category('a'),
      list('l'),
      cross('c', ['a', 'i']),
      category('i', { ids: 'integer' }),
    ];
    const maker = makerOf(columns, [1], [1]);
    const piece = pieceWith(columns, { a: 1n, l: [1n, 2n, 3n], i: [4n] });
    expect(maker.featuresOf(piece).count).toBe(maker.mostFeatures(1, 4));
  });
});

describe('a number', () => {
  test('is normalized by what is known of the training records', () => {
    expect(normalized('none', [1, 3], 7)).toBe(7);
    expect(normalized('standard', [1, 3], 7)).toBe(5);
    expect(normalized('minmax', [1, 3], 1)).toBe(0);
    expect(normalized('minmax', [1, 3], 3)).toBe(1);
    // Not cut off: another data set may have more.
    expect(normalized('minmax', [1, 3], 5)).toBe(2);
    expect(normalized('log', [1, 3], 99)).toBe(Math.fround(Math.log(100)));
    expect(normalized('log', [1, 3], -99)).toBe(Math.fround(-Math.log(100)));
    expect(normalized('log', [1, 3], 0)).toBe(0);
  });

  test('of a column without deviation or range is its distance', () => {
    expect(normalized('standard', [4, 4], 4)).toBe(0);
    expect(normalized('standard', [4, 4], 6)).toBe(2);
    expect(normalized('minmax', [4, 4], 4)).toBe(0);
    expect(normalized('minmax', [4, 4], 6)).toBe(2);
  });

  test.each([
    ['standard', 0],
    ['minmax', 0.5],
    ['none', 2],
    ['log', Math.fround(Math.log(3))],
  ] as const)('that is missing counts as the mean, %s, with a feature that says so', (normalize, value) => {
    const x = number('x', { normalize });
    expect(featuresOf([x], {}, [1, 3])).toEqual({ ids: [numberId('x'), missing('x')], values: [value, 1] });
  });

  test.each([
    ['standard', -2],
    ['minmax', -0.5],
    ['none', 0],
    ['log', 0],
  ] as const)('that is missing counts as zero, %s, without another feature', (normalize, value) => {
    const x = number('x', { normalize, missing: 'zero' });
    expect(featuresOf([x], {}, [1, 3])).toEqual({ ids: [numberId('x')], values: [value] });
  });

  test('of a column that has no value in training is as it is', () => {
    const columns = [number('x', { normalize: 'standard' }), number('y', { normalize: 'minmax' })];
    const none = [Number.NaN];
    expect(featuresOf(columns, { x: 5 }, none, none)).toEqual({
      ids: [numberId('x'), numberId('y'), missing('y')],
      values: [5, 0, 1],
    });
  });

  test('has an id of its own name only', () => {
    expect(new Set([numberId('x'), numberId('y'), missing('x'), missing('y'), partId('x', 0)]).size).toBe(5);
  });
});

describe('a number with quantiles', () => {
  const columns = [number('x', { quantiles: 4 })];
  const training = [1, 2, 3, 4, 5, 6, 7, 8];

  test.each([
    [-1e30, 0],
    [2.9999, 0],
    [3, 1],
    [4.5, 1],
    [5, 2],
    [6.5, 2],
    [7, 3],
    [1e30, 3],
  ])('%d is in part %d: a bound belongs to the part above it', (value, part) => {
    expect(featuresOf(columns, { x: value }, training)).toEqual({ ids: [partId('x', part)], values: undefined });
  });

  test('that is missing is a category of its own, or in the part of zero', () => {
    expect(featuresOf(columns, {}, training).ids).toEqual([missing('x')]);
    const zero = [number('x', { quantiles: 4, missing: 'zero' })];
    expect(featuresOf(zero, {}, training).ids).toEqual([partId('x', 0)]);
    expect(
      featuresOf(
        zero,
        {},
        training.map((value) => value - 5),
      ).ids,
    ).toEqual([partId('x', 2)]);
  });

  test('of which training records have none is one part', () => {
    expect(featuresOf(columns, { x: 3 }, [Number.NaN]).ids).toEqual([partId('x', 0)]);
  });
});

describe('a cross', () => {
  const seed = vocabularySeed('c');

  test('is of the ids of its columns, in its order', () => {
    const columns = [cross('c', ['b', 'a']), category('a'), category('b')];
    const { ids } = featuresOf(columns, { a: 1n, b: 2n });
    expect(ids).toEqual([crossId([2n, 1n], seed), 1n, 2n]);
    expect(ids[0]).not.toBe(crossId([1n, 2n], seed));
  });

  test('is of integer categories, which are the numbers themselves', () => {
    const columns = [category('i', { ids: 'integer' }), category('a'), cross('c', ['i', 'a'])];
    expect(featuresOf(columns, { i: [77n], a: 1n }).ids).toEqual([77n, 1n, crossId([77n, 1n], seed)]);
  });

  test('of an integer category that is missing has the id for that, which is no feature by itself', () => {
    const plain = [category('i', { ids: 'integer' }), category('a'), cross('c', ['i', 'a'])];
    expect(featuresOf(plain, { a: 1n }).ids).toEqual([1n, crossId([missing('i'), 1n], seed)]);
    const shared = [category('i', { ids: 'integer', vocabulary: 'shops' }), category('a'), cross('c', ['i', 'a'])];
    expect(featuresOf(shared, { a: 1n }).ids).toEqual([1n, crossId([missing('shops'), 1n], seed)]);
  });

  test('is of parts of a number', () => {
    const columns = [number('x', { quantiles: 2 }), category('a'), cross('c', ['a', 'x'])];
    const of = (sample: Sample): bigint => featuresOf(columns, sample, [1, 2, 3, 4]).ids[2]!;
    expect(of({ a: 9n, x: 2.5 })).toBe(crossId([9n, partId('x', 0)], seed));
    expect(of({ a: 9n, x: 3 })).toBe(crossId([9n, partId('x', 1)], seed));
    expect(of({ a: 9n })).toBe(crossId([9n, missing('x')], seed));
  });

  test('with buckets has no more ids than these', () => {
    const columns = [category('a'), category('b'), cross('c', ['a', 'b'], 3)];
    const found = new Set(
      Array.from({ length: 100 }, (_, at) => featuresOf(columns, { a: BigInt(at), b: 1n }).ids[2]!),
    );
    expect(found).toEqual(new Set([0, 1, 2].map((bucket) => partId('c', bucket))));
  });

  test('of each record of a piece is its own', () => {
    const columns = [category('a'), category('b'), cross('c', ['a', 'b'])];
    const piece = {
      ...pieceWith(columns, { a: 1n, b: 2n }),
      records: 2,
      // Longer than the records, as views of a kernel may be.
      single: [Uint32Array.of(1, 0, 3, 0, 9, 9), Uint32Array.of(2, 0, 4, 5, 9, 9)],
    };
    const { ids } = makerOf(columns).featuresOf(piece);
    const wide = 5n * 2n ** 32n + 4n;
    expect(idsOf(ids)).toEqual([1n, 2n, crossId([1n, 2n], seed), 3n, wide, crossId([3n, wide], seed)]);
  });
});
