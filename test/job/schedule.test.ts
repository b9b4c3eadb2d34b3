/** `training.schedule` of a job. */
import { expect, it } from 'vitest';
import { diffJobs } from '../../src/job/diff-jobs.ts';
import { parseJobFile } from '../../src/job/load-job.ts';

const load = (schedule: object | undefined, more: object = {}) =>
  parseJobFile(
    'job.yaml',
    JSON.stringify({
      name: 'j',
      data: { train: 't', format: 'libsvm' },
      model: { type: 'lr' },
      training: { schedule },
      ...more,
    }),
  );

it.each([
  [{ type: 'constant' }, { type: 'constant' }],
  [{ type: 'step' }, { type: 'step', everyPasses: 1, factor: 0.5 }],
  [
    { type: 'cosine', passes: 10 },
    { type: 'cosine', passes: 10, final: 0.01 },
  ],
  [
    { type: 'step', everyPasses: 0.25, warmup: { passes: 0.5 } },
    { type: 'step', everyPasses: 0.25, factor: 0.5, warmup: { passes: 0.5, from: 0.01 } },
  ],
])('%j is %j', (written, schedule) => {
  expect(load(written).training.schedule).toEqual(schedule);
});

it('is absent by default', () => {
  expect(load(undefined).training).not.toHaveProperty('schedule');
});

it.each([
  [{ type: 'cosine' }, /training.schedule.passes: is required/],
  [{ type: 'cosine', passes: 0 }, /training.schedule.passes/],
  [{ type: 'cosine', passes: 1, final: 0 }, /training.schedule.final/],
  [{ type: 'step', factor: 1 }, /training.schedule.factor/],
  [{ type: 'step', everyPasses: 0 }, /training.schedule.everyPasses/],
  [{ type: 'constant', warmup: { passes: 1, from: 1.5 } }, /training.schedule.warmup.from/],
  [{ type: 'constant', warmup: {} }, /training.schedule.warmup.passes: is required/],
  [{ type: 'linear' }, /training.schedule.type/],
])('%j is refused', (schedule, message) => {
  expect(() => load(schedule)).toThrow(message);
});

it('ftrl has none, not even for one of the parameters', () => {
  const ftrl = { optimizer: { type: 'ftrl' } };
  const message = /training.schedule: ftrl has no learning rate to scale/;
  expect(() => load({ type: 'step' }, ftrl)).toThrow(message);
  expect(() => load({ type: 'step' }, { tables: { w: ftrl } })).toThrow(message);
  expect(load(undefined, ftrl).optimizer.type).toBe('ftrl');
});

it('cannot change: each of its fields is one that differs', () => {
  const before = load({ type: 'step' });
  expect(diffJobs(before, load({ type: 'step', factor: 0.25 }))).toEqual([
    { field: 'training.schedule.factor', before: 0.5, after: 0.25 },
  ]);
  expect(diffJobs(before, load(undefined)).map(({ field }) => field)).toEqual([
    'training.schedule.type',
    'training.schedule.everyPasses',
    'training.schedule.factor',
  ]);
});
