/** `data.recordsPerTask: auto`. */
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { recordsPerLargeTask, recordsPerTaskFor } from '../../src/data/records-per-task.ts';
import * as fc from '../properties.ts';

test.each([
  // a9a and Adult with the batches of their examples, then MNIST in sync mode.
  [32_561, 128, 8, 1024],
  [32_561, 16, 8, 1024],
  [60_000, 16, 8, 1888],
  [200_000, 128, 8, 6272],
  // From here on a pass has many tasks of the usual size.
  [262_144, 128, 8, 8192],
  [45_840_617, 128, 8, 8192],
  // Always whole batches, and eight of them if there are enough records.
  [45_840_617, 1000, 8, 9000],
  [45_840_617, 4096, 8, 32_768],
  [600_000, 4096, 8, 20_480],
  // Four batches, if each lane has a task of them.
  [32_561, 1024, 8, 4096],
  [32_561, 1024, 4, 4096],
  [32_561, 1024, 16, 2048],
  [200_000, 4096, 8, 16_384],
  [9_216, 1024, 8, 1024],
  // Never less than a batch, even if that is all.
  [5, 128, 8, 128],
  [1, 1, 8, 1],
  [1_000, 1, 8, 32],
  // More lanes want more tasks.
  [200_000, 128, 64, 896],
  [200_000, 128, 1, 8192],
  // As many tasks as a job can have.
  [10 ** 12, 128, 8, 100_096],
])('%i records in batches of %i, %i lanes: %i', (records, batchSize, lanes, expected) => {
  expect(recordsPerTaskFor({ records, batchSize, lanes })).toBe(expected);
});

describe('whatever the job', () => {
  const jobs = fc.record({
    records: fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 2 ** 40 })),
    batchSize: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: LIMITS.batchRecords })),
    lanes: fc.integer({ min: 1, max: LIMITS.lanes }),
  });

  test('a task is whole batches, and a pass has as many tasks as asked for, but for the rounding', () => {
    fc.assert(
      fc.property(jobs, (job) => {
        const { records, batchSize, lanes } = job;
        const size = recordsPerTaskFor(job);
        expect(size).toBeGreaterThan(0);
        expect(size % batchSize).toBe(0);
        expect(Math.ceil(records / size)).toBeLessThanOrEqual(LIMITS.tasks);
        if (records / recordsPerLargeTask(job) > LIMITS.tasks) return;
        // With a batch less, each lane would have four tasks. Tasks of up to four batches leave each lane at least one.
        if (size > 4 * batchSize) expect((size - batchSize) * 4 * lanes).toBeLessThan(records);
        else if (size > batchSize) expect(Math.ceil(records / size)).toBeGreaterThanOrEqual(lanes);
        expect(size).toBeLessThanOrEqual(recordsPerLargeTask(job));
      }),
    );
  });

  test('more records never make smaller tasks', () => {
    fc.assert(
      fc.property(jobs, fc.integer({ min: 0, max: 2 ** 40 }), (job, more) => {
        expect(recordsPerTaskFor({ ...job, records: job.records + more })).toBeGreaterThanOrEqual(
          recordsPerTaskFor(job),
        );
      }),
    );
  });
});
