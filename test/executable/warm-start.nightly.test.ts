/**
 * A job that begins with the parameters of another one, in another number of shards and pservers, and pservers that
 * die.
 */

import { readFileSync, renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openCheckpoint } from '../../src/checkpoint/file/reader.ts';
import { type JobResult, jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { openJobStore } from './job-store.ts';
import { JOB, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { liveProcesses, SLOWLY } from './run.ts';

const BATCHES_PER_PASS = 16_000 / JOB.training.batchSize;

const run = (name: string, passes: number, changes: object) => ({
  ...UNHURRIED_JOB,
  ...changes,
  name,
  training: { ...JOB.training, passes },
});

const jobRun = async (place: Place, path: string, folder: string): Promise<JobResult> =>
  jobResultSchema.parse(await place.json('run', path, '--dir', folder));

/** Updates of the bias over all pservers, as Adam counts them. */
async function biasSteps(place: Place, folder: string, result: JobResult): Promise<number> {
  let steps = 0;
  for (const { index, uuid } of result.checkpoints) {
    const reader = await openCheckpoint(
      createStorage(createDisk()),
      place.path(folder, 'checkpoints', String(index), uuid),
    );
    for (const { shard } of reader.positions) for await (const { step } of reader.blocksOf(shard)) steps += step ?? 0;
    await reader.close();
  }
  return steps;
}

test('trains on from another cluster, whose files it does not need when a pserver dies later', async () => {
  const place = openPlace();
  await plantedJob(place);
  const first = await jobRun(place, place.writeJob(run('first', 2, {}), 'first.yaml'), 'one');
  const cluster = { ...UNHURRIED_JOB.cluster, pservers: 3, shards: 7 };
  const warmStart = { from: 'one' };
  const second = run('second', 6, { cluster, warmStart, checkpoint: { interval: 'off' } });
  const path = place.writeJob(second, 'second.yaml');
  const running = place.start('run', ['run', path, '--dir', 'job', '--json'], { PADDLET_FAIL: SLOWLY });
  await running.said(/logs in/);
  const store = await openJobStore(`sqlite:${place.path('job', 'store.db')}`, 'second');
  await store.passesOver(1, running);
  await store.until((entries) => [0, 1, 2].every((index) => entries.has(`/checkpoints/${index}`)), running);
  renameSync(place.path('one'), place.path('elsewhere'));
  const pserver = (await liveProcesses(place, 6)).find(({ role, index }) => role === 'pserver' && index === 1);
  process.kill(pserver!.pid, 'SIGKILL');

  const result = await resultOf(running);
  expect(result.records).toMatchObject({ applied: 6 * 16_000, lost: 0 });
  expect(result.warmStart).toMatchObject({ from: place.path('one'), job: 'first' });
  expect(result.warmStart!.loaded.map(({ name, rows }) => [name, rows > 0])).toEqual([
    ['bias', true],
    ['w', true],
  ]);
  // Adam's count of updates goes on where the first job ended, whatever died since.
  expect(await biasSteps(place, 'elsewhere', first)).toBe(2 * BATCHES_PER_PASS);
  expect(await biasSteps(place, 'job', result)).toBe(8 * BATCHES_PER_PASS);
  const log = readFileSync(place.path('job', 'logs/pserver-1.log'), 'utf8');
  expect(log.match(/warm start: w rows=\d+/g)).toHaveLength(1);
});

test('a checkpoint that does not fit is refused with exit code 2, a damaged one with 7', async () => {
  const place = openPlace();
  await plantedJob(place);
  await jobRun(place, place.writeJob(run('first', 1, {}), 'first.yaml'), 'one');
  const model = { type: 'fm', factors: 4 };
  const misfit = place.writeJob(run('fm', 1, { model, warmStart: { from: 'one' } }), 'fm.yaml');
  const refused = await place.paddlet('run', misfit, '--dir', 'two');
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.err).toMatch(/does not fit the job: v is missing; the checkpoint contains bias, w/);
  const nowhere = place.writeJob(run('nowhere', 1, { warmStart: { from: 'none' } }), 'nowhere.yaml');
  expect(await place.paddlet('run', nowhere, '--dir', 'three')).toMatchObject({ code: 7 });
});
