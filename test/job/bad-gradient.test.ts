/** What a job says about gradients that are no numbers. */
import { expect, it } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';

const load = (training: object) =>
  parseJobFile(
    'job.yaml',
    JSON.stringify({ name: 'j', data: { train: 't', format: 'libsvm' }, model: { type: 'lr' }, training }),
  );

it('fails by default; a job that clips says to which norm', () => {
  expect(load({}).training.onBadGradient).toBe('fail');
  expect(load({ onBadGradient: 'clip', maxGradientNorm: 0.5 }).training).toMatchObject({ maxGradientNorm: 0.5 });
  expect(load({ maxGradientNorm: 2 }).training).toMatchObject({ onBadGradient: 'fail', maxGradientNorm: 2 });
});

it.each([
  [{ onBadGradient: 'clip' }, /onBadGradient: clip needs training.maxGradientNorm/],
  [{ maxGradientNorm: 0 }, /maxGradientNorm/],
  [{ onBadGradient: 'clip', maxGradientNorm: 0 }, /maxGradientNorm/],
  [{ onBadGradient: 'skip' }, /onBadGradient/],
])('%j is refused', (training, message) => {
  expect(() => load(training)).toThrow(message);
});
