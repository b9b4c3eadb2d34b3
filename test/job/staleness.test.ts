/** What a staleness bound must be to the rest of the job. */
import { expect, it } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';

const load = (staleness: object | undefined, training: object = {}, optimizer = 'sgd') =>
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
  [{ bound: 9 }, { pullEvery: 3, pushEvery: 2 }, 'sgd', /policy: with wait, expected pushEvery to be a multiple/],
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

it.each([
  [undefined, 2],
  [{ bound: 4 }, 0],
  [{ bound: 1, policy: 'refuse' }, 1],
  [{ bound: 9, policy: 'scale' }, 2],
])('with %j so many pulls are made ahead: %i', (staleness, ahead) => {
  expect(load(staleness).training.pullAhead).toBe(ahead);
});

it.each([
  ['lr', 'libsvm', 2],
  ['fm', 'libsvm', 2],
  ['softmax', 'idx', 2],
  ['mlp', 'idx', 0],
  ['layers', 'libsvm', 0],
])('%s pulls ahead by default: %s data, %i pulls', (type, format, ahead) => {
  const data = { train: 't', format, ...(format === 'idx' && { trainLabels: 'l' }) };
  const layers = type === 'layers' && { layers: [{ type: 'embedding', width: 2 }, { type: 'dense' }] };
  const text = (training: object): string =>
    JSON.stringify({ name: 'j', data, model: { type, ...layers }, optimizer: { type: 'sgd' }, training });
  expect(parseJobFile('job.yaml', text({})).training.pullAhead).toBe(ahead);
  expect(parseJobFile('job.yaml', text({ pullAhead: 1 })).training.pullAhead).toBe(1);
});

it('more than the bound leaves room for are refused', () => {
  const bound = { bound: 4, policy: 'refuse' };
  expect(load(bound, { pullAhead: 4 }).training.pullAhead).toBe(4);
  expect(() => load(bound, { pullAhead: 5 })).toThrow(/training.pullAhead is 5, but this bound allows at most 4/);
  expect(() => load(undefined, { mode: 'sync', pullAhead: 1 })).toThrow(
    /pullAhead: expected 0: in sync mode a round starts/,
  );
});
