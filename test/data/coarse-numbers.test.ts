/** Numbers that 32-bit floats hardly tell apart. */
import { expect, test } from 'vitest';
import { coarseOddities } from '../../src/data/oddities.ts';

const column = (min: number, max: number, deviation: number) => ({
  ...{ name: 'x', present: 9, missing: 0, mean: (min + max) / 2, min, max, deviation },
});

test.each([
  ['seconds of two minutes', column(1_704_067_200, 1_704_067_328, 63.9), true],
  ['negative ones', column(-1_704_067_328, -1_704_067_200, 63.9), true],
  ['seconds of a year', column(1_704_067_200, 1_735_689_600, 9e6), false],
  ['years', column(1990, 2024, 9), false],
  ['a constant', column(5, 5, 0), false],
  ['zeros', column(0, 0, 0), false],
])('%s', (_, statistics, isCoarse) => {
  expect(coarseOddities([statistics])).toHaveLength(isCoarse ? 1 : 0);
});
