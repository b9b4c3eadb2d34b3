/** What a staleness bound must be to the rest of the job. */
import { expect, it } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';

const load = (staleness: object, training: object = {}, optimizer = 'sgd') =>
  parseJobFile(
    'job.yaml',
    JSON.stringify({
      name: 'j',
      data: { train: 't', format: 'libsvm' },
      model: { type: 'lr' },
      optimizer: { type: optimizer },
      training: { ...training, staleness },
    }),
  );

it('is part of the job; wait is the policy', () => {
  expect(load({ bound: 4 }).training.staleness).toEqual({ bound: 4, policy: 'wait' });
  expect(load({ bound: 0, policy: 'refuse' }).training.staleness).toEqual({ bound: 0, policy: 'refuse' });
});

it.each([
  [{ bound: 1, policy: 'refuse' }, { pullEvery: 4 }, 'sgd', /bound: expected at least 3: a trainer makes 4 pushes/],
  [{ bound: 9 }, { pullEvery: 3, pushEvery: 2 }, 'sgd', /policy: wait needs pushEvery to be a multiple/],
  [{ bound: 1, policy: 'scale' }, {}, 'ftrl', /policy: ftrl has no learning rate to scale/],
  [{ bound: -1 }, {}, 'sgd', /staleness.bound/],
  [{}, {}, 'sgd', /staleness.bound: is required/],
])('%j with %j and %s is refused', (staleness, training, optimizer, message) => {
  expect(() => load(staleness, training, optimizer)).toThrow(message);
});

it.each([
  [{ bound: 3 }, { pullEvery: 4 }],
  [{ bound: 0 }, { pushEvery: 4, pullEvery: 2 }],
])('%j with %j is fine', (staleness, training) => {
  expect(() => load(staleness, training)).not.toThrow();
});
