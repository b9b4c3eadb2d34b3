import { expect, it } from 'vitest';
import { addPassMetrics, type PassMetrics } from '../../src/core/pass-metrics.ts';

const sums = (
  records: number,
): { records: number; weight: number; loss: number; correct: number; squaredError: number } => {
  return { records, weight: records, loss: records / 10, correct: records - 1, squaredError: records / 4 };
};

const addAll = (all: readonly (readonly [pass: number, records: number])[]): PassMetrics[] =>
  all.reduce<PassMetrics[]>((before, [pass, records]) => addPassMetrics(before, pass, sums(records)), []);

it('adds up by pass', () => {
  expect(
    addAll([
      [0, 10],
      [0, 20],
    ]),
  ).toEqual([{ pass: 0, records: 30, weight: 30, loss: 3, correct: 28, squaredError: 7.5 }]);
});

it('has the pass in work and the one before it', () => {
  const kept = addAll([
    [0, 10],
    [1, 20],
    [1, 20],
    [2, 30],
  ]);
  expect(kept.map(({ pass, records }) => [pass, records])).toEqual([
    [1, 40],
    [2, 30],
  ]);
});

it('a rollback to the pass before goes on with what the cut had of it', () => {
  const cut = addAll([[3, 10]]);
  const further = addPassMetrics(addPassMetrics(cut, 3, sums(5)), 4, sums(7));
  expect(further.map(({ pass, records }) => [pass, records])).toEqual([
    [3, 15],
    [4, 7],
  ]);
  expect(addPassMetrics(cut, 3, sums(5))).toEqual([further[0]]);
  expect(cut).toEqual(addAll([[3, 10]]));
});
