/** What share of its learning rate an optimizer has, by the progress of training (docs/training-aids.md). */
import { expect, it } from 'vitest';
import { LEAST_SHARE, rateShareAt, type Schedule } from '../../../src/core/shard/schedule.ts';
import * as fc from '../../properties.ts';
import { plainShare } from '../../sync/plain-schedule.ts';

const BITS = {
  cosine: [0.2344837455324533, 0.8053732174124135, 0.7832312720368046, 0.010244252618962859],
  step: [0.48999999999999994, 0.002326305139872067, 0.00001577753820348454, 4.620680728035335e-16],
};
const anyPasses = fc.double({ min: 1e-3, max: 50, noNaN: true });
const anyShare = fc.double({ min: 1e-6, max: 1, noNaN: true });
const warmup = fc.option(fc.record({ passes: anyPasses, from: anyShare }), { nil: undefined });
const anySchedule: fc.Arbitrary<Schedule> = fc.oneof(
  fc.record({ type: fc.constant('constant' as const), warmup }),
  fc.record({ type: fc.constant('step' as const), everyPasses: anyPasses, factor: anyShare, warmup }),
  fc.record({ type: fc.constant('cosine' as const), passes: anyPasses, final: anyShare, warmup }),
);
const anyProgress = fc.double({ min: 0, max: 100, noNaN: true });

it('is 1 without a schedule', () => {
  expect([0, 0.5, 7].map((done) => rateShareAt(undefined, done))).toEqual([1, 1, 1]);
});

it('steps: a factor for each interval that is over', () => {
  const schedule = { type: 'step', everyPasses: 0.5, factor: 0.5 } as const;
  expect([0, 0.49, 0.5, 0.99, 1, 2.75].map((done) => rateShareAt(schedule, done))).toEqual([
    ...[1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 32],
  ]);
});

it('has the cosine of Math.cos to 1e-12, from 1 to the final share, which then holds', () => {
  const schedule = { type: 'cosine', passes: 8, final: 0.25 } as const;
  for (let done = 0; done <= 8; done += 1 / 128) {
    const expected = 0.25 + (0.75 * (1 + Math.cos((Math.PI * done) / 8))) / 2;
    expect(Math.abs(rateShareAt(schedule, done) - expected)).toBeLessThan(1e-12);
  }
  expect([0, 4, 8, 9, 1e9].map((done) => rateShareAt(schedule, done))).toEqual([1, 0.625, 0.25, 0.25, 0.25]);
});

it('has these bits', () => {
  const cosine = { type: 'cosine', passes: 10, final: 0.01, warmup: { passes: 2, from: 0.1 } } as const;
  expect([0.3, 1.7, 3.1, 9.9].map((done) => rateShareAt(cosine, done))).toEqual(BITS.cosine);
  const step = { type: 'step', everyPasses: 0.1, factor: 0.7 } as const;
  expect([0.3, 1.7, 3.1, 9.9].map((done) => rateShareAt(step, done))).toEqual(BITS.step);
});

it('warms up in a straight line, on top of the schedule', () => {
  const line = { passes: 2, from: 0.5 };
  expect([0, 1, 2, 3].map((done) => rateShareAt({ type: 'constant', warmup: line }, done))).toEqual([0.5, 0.75, 1, 1]);
  const step = { type: 'step', everyPasses: 1, factor: 0.5, warmup: line } as const;
  expect([0, 1, 2, 3].map((done) => rateShareAt(step, done))).toEqual([0.5, 0.375, 0.25, 0.125]);
});

it('is in (0, 1], falls after the warm-up, and is what the plain form says', () => {
  fc.assert(
    fc.property(anySchedule, anyProgress, anyProgress, (schedule, one, other) => {
      const { warmup: rise } = schedule;
      const [sooner, later] = [Math.min(one, other), Math.max(one, other)];
      for (const done of [sooner, later]) {
        const share = rateShareAt(schedule, done);
        expect(share).toBeGreaterThanOrEqual(LEAST_SHARE);
        expect(share).toBeLessThanOrEqual(1);
        expect(share).toBe(plainShare(schedule, done));
      }
      if (sooner < (rise?.passes ?? 0)) return;
      // The bits of a polynomial need not fall where the cosine is flat.
      expect(rateShareAt(schedule, later)).toBeLessThanOrEqual(rateShareAt(schedule, sooner) + 1e-15);
    }),
    { numRuns: 500 },
  );
});

it('never becomes 0, however many steps there were', () => {
  for (const everyPasses of [1e-3, 1e-300]) {
    expect(rateShareAt({ type: 'step', everyPasses, factor: 0.1 }, 1e6)).toBe(LEAST_SHARE);
  }
});
