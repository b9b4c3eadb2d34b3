/** A model whose last update overflows: the job fails, says why, and its last checkpoint is there to look at. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPlace } from './harness.ts';

test('a model with infinite values fails the job by name, and its checkpoint of the end is kept', async () => {
  const place = openPlace();
  writeFileSync(place.path('big.libsvm'), '1e10 1:1 2:1\n-1e10 2:1 3:1\n');
  const job = place.writeJob({
    name: 'big',
    data: { train: 'big.libsvm', test: 'big.libsvm', format: 'libsvm' },
    model: { type: 'lr', task: 'regression' },
    optimizer: { type: 'sgd', learningRate: 1e30 },
    training: { passes: 1 },
    cluster: { pservers: 1, trainers: 1, shards: 2 },
  });
  const run = await place.paddlet('run', job);
  expect([run.code, run.err]).toEqual([
    6,
    expect.stringMatching(/^error ModelNotFinite: the model after pass 1 .* values of w are NaN or infinite$/m),
  ]);
  expect(run.err).toContain('hint: train again with a lower optimizer.learningRate');
  const inspected = await place.json('checkpoint', 'inspect');
  expect(inspected).toMatchObject({ shards: { missing: [] }, tables: [{ name: 'w', infinities: expect.any(Number) }] });
  for (const of of [['--dir', '.paddlet/big'], ['.paddlet/big']]) {
    const { code, err } = await place.paddlet('evaluate', ...of);
    expect([code, err]).toEqual([6, expect.stringContaining('ModelNotFinite: big.libsvm, line 1: ')]);
  }
});
