/** Sync mode on other clusters, and restored to another one: the digests are those of a plain loop. */
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { plantedJob } from './planted-job.ts';
import { eventually, JOB_FOLDER, startRun } from './run.ts';
import { cutIn, cutOf, expectPlain, finish, plainLoop, SYNC } from './sync-job.ts';

/** The job does not end before it is stopped. */
const VERY_SLOWLY = 'round.applied:delay=300';

test.each([
  ['one trainer and one pserver', ['cluster.trainers=1', 'cluster.pservers=1']],
  ['three trainers and two pservers', ['cluster.trainers=3', 'cluster.pservers=2']],
  ['more trainers than lanes, on four pservers,', ['cluster.trainers=5', 'cluster.pservers=4', 'cluster.shards=7']],
])('%s make the bits of a plain loop', async (_name, settings) => {
  const place = openPlace();
  await expectPlain(place, await finish(place, ...settings));
});

test('another seed makes other bits', async () => {
  const place = openPlace();
  const { modelDigest } = await finish(place, 'training.seed=2');
  expect(modelDigest).not.toBe((await plainLoop(place)).modelDigest);
});

test('stopped in mid-run, restored to three pservers, and gone on with', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place, SYNC), VERY_SLOWLY);
  await cutOf(store, 1);
  await eventually(async () => {
    const { out } = await place.paddlet('status', '--wide', '--dir', JOB_FOLDER);
    expect(out).toMatch(/^pserver +0 .* [1-9]\d* shards, [1-9]\d* rows, \d+\.\d MB, round [1-9]\d*$/m);
    expect(out).toMatch(/^trainer .* \w+, [1-9]\d* records(, loss \d\.\d{4})?$/m);
  });
  running.kill('SIGINT');
  await running.ended;
  expect(await store.get('/result')).toBeUndefined();
  const ended = await place.paddlet('restore', '--dir', JOB_FOLDER, '--pservers', '3', '--json');
  expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('"published":true') });
  const { round } = cutIn((await store.get('/checkpoints/cut'))?.value);
  expect(round).toBeGreaterThan(0);
  const result = await resultOf(place.start('run again', [...args, '--set', 'cluster.pservers=3']));
  await expectPlain(place, result);
  expect(result.checkpoints.map(({ index }) => index)).toEqual([0, 1, 2]);
});
