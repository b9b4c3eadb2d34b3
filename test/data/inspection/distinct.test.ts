import { expect, test } from 'vitest';
import { DistinctValues, hashOfText } from '../../../src/data/inspection/distinct.ts';
import { explainedBy } from '../../../src/data/inspection/frequent.ts';

const filled = (values: number, most: number): DistinctValues => {
  const distinct = new DistinctValues(most);
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < values; at++) distinct.add(hashOfText(`value ${at}`));
  }
  return distinct;
};

test.each([0, 1, 63, 64, 65, 1000, 1024])('%i values of at most 1024 are counted', (values) => {
  const distinct = filled(values, 1024);
  expect([distinct.count, distinct.isExact]).toEqual([values, true]);
});

test('more are estimated', () => {
  const distinct = filled(50_000, 4096);
  expect(distinct.isExact).toBe(false);
  // Its standard deviation is 1.6 %.
  expect(Math.abs(distinct.count - 50_000)).toBeLessThan(0.05 * 50_000);
});

test('of a sample of the values it is known whether they are there', () => {
  const distinct = filled(10_000, 512);
  const share = (prefix: string): number[] => {
    const covered = Array.from({ length: 10_000 }, (_, at) => hashOfText(`${prefix} ${at}`)).filter((hash) =>
      distinct.covers(hash),
    );
    return [covered.length, covered.filter((hash) => distinct.has(hash)).length];
  };
  expect(share('value')).toEqual([512, 512]);
  const [covered, found] = share('other');
  expect(covered).toBeGreaterThan(400);
  expect(found).toBe(0);
});

test('a value explains labels only by other records with it', () => {
  const value = (...labels: number[]) => ({ count: 0, number: 0, time: 0, isNew: undefined, labels });
  expect(explainedBy([value(5, 0), value(0, 5)], 10)).toBe(1);
  // Ids, each with a record of its own.
  expect(explainedBy([value(1), value(0, 1)], 2)).toBe(0);
  expect(explainedBy([value(3, 1)], 4)).toBe(0.75);
});
