import { expect, test } from 'vitest';
import { type Point, secondsTo } from '../../../scripts/bench/training/time-to-loss.ts';

const points: readonly Point[] = [0.9, 0.5, 0.7, 0.6, 0.4, 0.2].map((logloss, at) => ({
  ...{ kind: 'train', time: 100 + at, records: 10, logloss },
}));

test('the time to a loss counts to the end of the first window whose mean is low enough', () => {
  expect(secondsTo(points, 0.5, 10)).toBe(1);
  expect(secondsTo(points, 0.61, 20)).toBe(2);
  expect(secondsTo(points, 0.57, 30)).toBe(4);
  // A window has all points that it needs: 20 records for 15.
  expect(secondsTo(points, 0.61, 15)).toBe(2);
  expect(secondsTo(points, 0.1, 10)).toBe(Number.POSITIVE_INFINITY);
});
