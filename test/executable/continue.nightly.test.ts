/** `paddlet run` with more passes than a job had: killed around the moment in which it gets them, and then whole. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { openJobStore } from './job-store.ts';
import { JOB_FOLDER, runArguments } from './run.ts';

const RECORDS = 2_000;
const JOB = {
  name: 'continued',
  data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: 200 },
  model: { type: 'lr' },
  optimizer: { type: 'adam', learningRate: 0.01 },
  training: { mode: 'sync', passes: 2, batchSize: 20, lanes: 3 },
  cluster: { pservers: 2, trainers: 2, shards: 16, leaseTtl: '2s' },
  hooks: { before: ['echo before >> said'], after: ['echo "$PADDLET_RESULT" | cut -d, -f3 >> said'] },
};
const MORE = ['--set', 'training.passes=4'];

test('a finished job with more passes has the digests of one that had them from the start', async () => {
  const place = openPlace();
  const flags = { records: RECORDS, features: 30, 'per-record': 5, factors: 0 };
  await place.json(
    'data',
    'synth',
    '--output',
    '.',
    ...Object.entries(flags).flatMap(([f, n]) => [`--${f}`, String(n)]),
  );
  const job = place.writeJob(JOB);
  const args = runArguments(job);
  const two = await resultOf(place.start('two passes', args));
  const store = await openJobStore(`sqlite:${place.path(JOB_FOLDER, 'store.db')}`, JOB.name);

  const before = place.start('killed before', [...args, ...MORE], { PADDLET_FAIL: 'job.continuing:kill' });
  expect((await before.ended).code).toBe(null);
  expect(await resultOf(place.start('as it was', args))).toEqual(two);

  const after = place.start('killed after', [...args, ...MORE], { PADDLET_FAIL: 'job.continued:kill' });
  expect((await after.ended).code).toBe(null);
  expect(await store.get('/result')).toBeUndefined();
  expect((await place.paddlet(...args)).code).toBe(2);

  const four = await resultOf(place.start('continued', [...args, ...MORE]));
  const elsewhere = ['--dir', 'other', '--set', 'cluster.pservers=1', '--set', 'cluster.trainers=1'];
  const atOnce = await resultOf(place.start('four at once', ['run', job, '--json', ...MORE, ...elsewhere]));
  const same = ({ passes, tasks, modelDigest, stateDigest }: typeof four) => ({
    passes,
    tasks,
    modelDigest,
    stateDigest,
  });
  expect(same(four)).toEqual(same(atOnce));
  expect(four.records).toMatchObject({ applied: 4 * RECORDS, bad: 0, discarded: 0, lost: 0 });
  expect(four.modelDigest).not.toBe(two.modelDigest);
  const said = readFileSync(place.path('said'), 'utf8').split('\n');
  expect(said.slice(0, 3)).toEqual(['before', '"passes":2', '"passes":4']);
});
