/** What `checkpoint.delta` must be to the rest of the job, and what it means for the tables. */
import { expect, it } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';
import { saveIntervalMs } from '../../src/job/save-interval.ts';
import { parseJob } from '../../src/job/schema.ts';
import { trainedSpec } from '../../src/tensor/optimizer.ts';
import { asPublished } from '../cluster/job/stored-job.ts';

const load = (checkpoint: object, model: object = { type: 'lr' }) =>
  parseJobFile('job.yaml', JSON.stringify({ name: 'j', data: { train: 't', format: 'libsvm' }, model, checkpoint }));

it('has defaults, and its interval is that of all files', () => {
  const job = load({ delta: {} });
  expect(job.checkpoint).toEqual({ keep: 1, intervalMs: 600_000, delta: { intervalMs: 60_000, maxShare: 0.5 } });
  expect(parseJob(JSON.parse(JSON.stringify(asPublished(job))))).toEqual(asPublished(job));
  expect(saveIntervalMs(job.checkpoint)).toBe(60_000);
  const often = load({ interval: 'off', delta: { interval: '10s', maxShare: 2 } });
  expect(often.checkpoint).toMatchObject({ intervalMs: 'off', delta: { intervalMs: 10_000, maxShare: 2 } });
  expect(saveIntervalMs(often.checkpoint)).toBe(10_000);
  expect(saveIntervalMs(load({ interval: '5s' }).checkpoint)).toBe(5_000);
  expect(saveIntervalMs(load({ interval: 'off' }).checkpoint)).toBeUndefined();
});

it.each([
  [{ interval: '1m', delta: {} }, { type: 'lr' }, /delta.interval: expected less than checkpoint.interval \(1m\)/],
  [{ delta: { interval: 'often' } }, { type: 'lr' }, /delta.interval: expected a duration/],
  [{ delta: {}, keep: 21 }, { type: 'lr' }, /checkpoint.keep: expected at most 20 with checkpoint.delta, got 21/],
  [{ delta: { maxShare: 0 } }, { type: 'lr' }, /delta.maxShare/],
  [{ delta: { share: 1 } }, { type: 'lr' }, /delta.share/],
  [{ delta: {} }, { type: 'softmax' }, /delta: expected a model with sparse tables/],
])('%j of %j is refused', (checkpoint, model, message) => {
  expect(() => load(checkpoint, model)).toThrow(message);
});

it('gives each row of all tables a seen', () => {
  const zeros = { type: 'zeros' as const };
  const parameters = { dense: [], sparse: [{ name: 'a', width: 1, initializer: zeros }] };
  const seenIn = (checkpoint: object) => trainedSpec(parameters, load(checkpoint)).sparse.map(({ hasSeen }) => hasSeen);
  expect(seenIn({ delta: {} })).toEqual([true]);
  expect(seenIn({})).toEqual([undefined]);
});
