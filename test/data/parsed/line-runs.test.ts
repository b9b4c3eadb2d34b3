import { expect, test } from 'vitest';
import { LineRuns } from '../../../src/data/parsed/line-runs.ts';

test('lines that follow each other are one run, however they come', () => {
  const runs = new LineRuns();
  runs.break();
  runs.addAll(Uint32Array.of(0, 1, 5, 6), 10);
  // Lines 10, 11, 15, 16; then 17 alone, then 18 and 19.
  runs.add(17);
  runs.addAll(Uint32Array.of(0, 1), 18);
  runs.add(30);
  runs.break();
  runs.add(31);
  const { positions, lines } = runs.finish();
  expect([...positions]).toEqual([0, 2, 7, 8]);
  expect([...lines]).toEqual([10, 15, 30, 31]);
});

test('there is room for any number of runs', () => {
  const runs = new LineRuns();
  for (let line = 0; line < 100; line++) runs.add(3 * line);
  expect([...runs.finish().lines]).toEqual(Array.from({ length: 100 }, (_, at) => 3 * at));
});
