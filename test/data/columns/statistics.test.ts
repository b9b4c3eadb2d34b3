/** What is known of number columns, against plain two-pass values. */
import { describe, expect, test } from 'vitest';
import { partOf } from '../../../src/data/columns/numbers.ts';
import { type NumberStatistics, RUN_RECORDS } from '../../../src/data/columns/statistics.ts';
import * as fc from '../../properties.ts';
import { number, statisticsOf } from './samples.ts';

const COLUMN = number('x');

function of(values: readonly number[], quantiles?: number, sizes?: readonly number[]): NumberStatistics {
  return statisticsOf([{ ...COLUMN, quantiles }], [values], sizes)[0]!;
}

/** In two passes over the values as they are stored. */
function plainly(values: readonly number[]): { mean: number; deviation: number } {
  const present = values.map(Math.fround).filter((value) => !Number.isNaN(value));
  const mean = present.reduce((sum, value) => sum + value, 0) / present.length;
  const squares = present.reduce((sum, value) => sum + (value - mean) * (value - mean), 0);
  return { mean, deviation: Math.sqrt(squares / present.length) };
}

/** Numbers that look random, the same each time. */
function scattered(count: number, from = 0): number[] {
  let state = 12_345;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return from + state / 2 ** 32;
  });
}

const values = (length: number) =>
  fc.array(
    fc.oneof({ weight: 5, arbitrary: fc.float({ noNaN: true, min: -1e6, max: 1e6 }) }, fc.constant(Number.NaN)),
    {
      minLength: 1,
      maxLength: length,
    },
  );

describe('mean, deviation and bounds', () => {
  test('are exact where all sums are', () => {
    expect(of([1, 2, Number.NaN, 3, 6])).toEqual({
      name: 'x',
      present: 4,
      missing: 1,
      mean: 3,
      deviation: Math.sqrt(3.5),
      min: 1,
      max: 6,
    });
    // 0 … 9999 over several runs: sums of whole numbers below 2^53.
    const { mean, deviation, min, max } = of(Array.from({ length: 10_000 }, (_, at) => at));
    expect([mean, min, max]).toEqual([4999.5, 0, 9999]);
    expect(deviation).toBeCloseTo(Math.sqrt((10_000 ** 2 - 1) / 12), 9);
  });

  test('are those of two passes', () => {
    fc.assert(
      fc.property(values(300), (all) => {
        const { present, missing, mean, deviation, min, max } = of(all);
        const there = all.map(Math.fround).filter((value) => !Number.isNaN(value));
        expect([present, missing]).toEqual([there.length, all.length - there.length]);
        if (there.length === 0) return;
        const plain = plainly(all);
        const scale = Math.max(...there.map(Math.abs), 1e-300);
        expect(Math.abs(mean - plain.mean)).toBeLessThanOrEqual(1e-12 * scale);
        expect(Math.abs(deviation - plain.deviation)).toBeLessThanOrEqual(1e-12 * scale);
        expect([min, max]).toEqual([Math.min(...there) + 0, Math.max(...there) + 0]);
      }),
    );
  });

  test('have the same bits however the records are cut into pieces', () => {
    const all = scattered(3 * RUN_RECORDS + 77, -0.3).map((value, at) => (at % 7 === 3 ? Number.NaN : value));
    const whole = of(all, 10);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2 * RUN_RECORDS }), { minLength: 1, maxLength: 8 }), (sizes) => {
        expect(of(all, 10, sizes)).toEqual(whole);
      }),
      { numRuns: 30, examples: [[[1]], [[RUN_RECORDS]], [[RUN_RECORDS - 1, 1]]] },
    );
  });

  test('of a column without any value are zeros', () => {
    const none = new Array<number>(RUN_RECORDS + 5).fill(Number.NaN);
    expect(of(none, 4)).toEqual({
      name: 'x',
      present: 0,
      missing: RUN_RECORDS + 5,
      mean: 0,
      deviation: 0,
      min: 0,
      max: 0,
      bounds: [],
    });
  });

  test('a first run without values does not count', () => {
    const late = [...new Array<number>(2 * RUN_RECORDS).fill(Number.NaN), 4, 8];
    expect(of(late)).toMatchObject({ present: 2, missing: 2 * RUN_RECORDS, mean: 6, deviation: 2, min: 4, max: 8 });
  });

  test('of equal values have no deviation', () => {
    for (const count of [1, 2, RUN_RECORDS, 2 * RUN_RECORDS + 1]) {
      const same = new Array<number>(count).fill(1.1);
      expect(of(same)).toMatchObject({ present: count, mean: Math.fround(1.1), min: Math.fround(1.1) });
      expect(of(same).deviation).toBe(0);
    }
  });

  test('a small deviation of a large mean is not lost', () => {
    const far = Array.from({ length: 3 * RUN_RECORDS }, (_, at) => 16_000_000 + (at % 2));
    const { mean, deviation } = of(far);
    expect(mean).toBe(16_000_000.5);
    expect(deviation).toBeCloseTo(0.5, 12);
  });

  test('of the largest numbers are finite', () => {
    const most = 3.4e38;
    const { mean, deviation } = of(
      new Array<number>(RUN_RECORDS + 2).fill(most).map((value, at) => value * (-1) ** at),
    );
    expect(mean).toBe(0);
    expect(deviation).toBeCloseTo(Math.fround(most), -30);
  });

  test('zeros have no sign: JSON, as which they are kept, has none for them', () => {
    const zeros = of([-0, -0, 0], 2);
    expect(JSON.parse(JSON.stringify(zeros))).toEqual(zeros);
  });

  test('of several columns are apart', () => {
    const found = statisticsOf(
      [number('a'), number('b', { quantiles: 2 })],
      [
        [1, 3],
        [10, Number.NaN],
      ],
    );
    expect(found).toMatchObject([
      { name: 'a', mean: 2, missing: 0 },
      { name: 'b', mean: 10, missing: 1, bounds: [10] },
    ]);
    expect(found[0]).not.toHaveProperty('bounds');
  });
});

describe('bounds of quantiles', () => {
  test('are exact for few values, in any order', () => {
    expect(of([7, 1, 3, 5, 2, 8, 4, 6], 4).bounds).toEqual([3, 5, 7]);
    expect(of([7, Number.NaN, 1, 3, 5, 2, 8, 4, 6], 2).bounds).toEqual([5]);
    expect(of([-2, -10, 3], 3).bounds).toEqual([-2, 3]);
  });

  test('divide values into parts of equal count', () => {
    const { bounds = [] } = of(scattered(1000), 8);
    const counts = new Array<number>(8).fill(0);
    for (const value of scattered(1000)) counts[partOf(bounds, Math.fround(value))]! += 1;
    expect(counts).toEqual(new Array(8).fill(125));
  });

  test('are there once each when many values are equal', () => {
    expect(of([0, 0, 0, 0, 0, 0, 0, 1, 2, 3], 10).bounds).toEqual([0, 1, 2, 3]);
    expect(of([5, 5, 5], 4).bounds).toEqual([5]);
    expect(of([1], 256).bounds).toEqual([1]);
  });

  test('of many values come from a sample that does not depend on the pieces, and are close', () => {
    const all = scattered(300_000);
    const { bounds = [] } = of(all, 20);
    expect(of(all, 20, [4096, 1, 70_000]).bounds).toEqual(bounds);
    expect(bounds).toHaveLength(19);
    const sorted = Float32Array.from(all).sort();
    bounds.forEach((bound, at) => {
      const rank = sorted.findIndex((value) => value >= bound) / sorted.length;
      expect(Math.abs(rank - (at + 1) / 20)).toBeLessThan(0.01);
    });
  });

  test('of many sorted values are close, too', () => {
    const { bounds = [] } = of(
      Array.from({ length: 300_000 }, (_, at) => at),
      4,
    );
    bounds.forEach((bound, at) => {
      expect(Math.abs(bound / 300_000 - (at + 1) / 4)).toBeLessThan(0.01);
    });
  });
});
