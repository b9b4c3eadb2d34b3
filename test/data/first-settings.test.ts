/** The settings that `init` and `data synth` write. */
import { expect, test } from 'vitest';
import { firstSettings } from '../../src/data/first-settings.ts';

test.each([
  // Few records, as many as a9a, a day of clicks, a month of clicks.
  ['lr', 1_000, 14, { passes: 5, batchSize: 32, learningRate: 0.1, initialAccumulator: 0.004 }],
  ['lr', 32_561, 14, { passes: 3, batchSize: 128, learningRate: 0.1, initialAccumulator: 0.0002 }],
  ['fm', 32_561, 14, { passes: 3, batchSize: 128, learningRate: 0.05, initialAccumulator: 0.0002 }],
  ['fm', 200_000, 39, { passes: 1, batchSize: 256, learningRate: 0.036, initialAccumulator: 0.00006 }],
  ['fm', 3_000_000, 99, { passes: 1, batchSize: 2048, learningRate: 0.014, initialAccumulator: 0.000001 }],
  ['lr', 10 ** 9, 0, { passes: 1, batchSize: 2048, learningRate: 0.1, initialAccumulator: 0.000001 }],
] as const)('%s, %i records with a sum of %i', (model, records, meanSum, expected) => {
  expect(firstSettings(model, { records, meanSum })).toEqual(expected);
});

test('a pass has at least 400 mini-batches, unless batches are as small as they become', () => {
  for (let records = 5000; records < 10_000_000; records = Math.ceil(records * 1.3)) {
    const { batchSize } = firstSettings('lr', { records, meanSum: 1 });
    expect(batchSize === 128 || records / batchSize >= 400).toBe(true);
  }
});
