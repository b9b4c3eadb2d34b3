/** Sync mode with real processes: whatever the cluster is, and whatever dies, the digests are those of a plain loop. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { type ReferenceResult, referenceOf } from '../sync/reference-loop.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import type { JobStore } from './job-store.ts';
import { JOB, plantedJob } from './planted-job.ts';
import { eventually, JOB_FOLDER, liveOne, startRun } from './run.ts';

const PASSES = 6;
const SYNC = {
  ...JOB,
  training: { mode: 'sync', lanes: 4, passes: PASSES, batchSize: 50 },
  checkpoint: { interval: '200ms' },
};

/** Rounds that take so long that a fault can strike in the middle of them. */
const SLOWLY = 'round.applied:delay=40';

let known: Promise<ReferenceResult> | undefined;

/** Worked out once: the data is the same in each place, as it is made from a seed. */
const plainLoop = (place: Place): Promise<ReferenceResult> => (known ??= referenceOf(SYNC, place.path()));

async function expectPlain(place: Place, result: JobResult): Promise<void> {
  const plain = await plainLoop(place);
  const { modelDigest, stateDigest, records } = result;
  expect({ modelDigest, stateDigest }).toEqual({
    modelDigest: plain.modelDigest,
    stateDigest: plain.stateDigest,
  });
  expect(records).toMatchObject({ applied: plain.applied, bad: 0, discarded: 0, lost: 0 });
  expect(result).toMatchObject({ mode: 'sync', passes: PASSES });
}

const cutSchema = z.object({ timeline: z.number(), round: z.number() });

/** The last complete cut. */
const cutIn = (value: string | undefined) => cutSchema.parse(JSON.parse(value ?? '{"timeline":0,"round":0}'));

/** Until a cut is complete that is of at least that round. */
async function cutOf(store: JobStore, round: number): Promise<number> {
  let found = 0;
  await store.until((entries) => {
    found = cutIn(entries.get('/checkpoints/cut')?.value).round;
    return found >= round;
  });
  return found;
}

const finish = async (place: Place, ...settings: string[]): Promise<JobResult> => {
  const job = await plantedJob(place, SYNC);
  const flags = settings.flatMap((setting) => ['--set', setting]);
  return resultOf(place.start('run', ['run', job, '--dir', JOB_FOLDER, '--json', ...flags]));
};

test.each([
  ['one trainer and one pserver', ['cluster.trainers=1', 'cluster.pservers=1']],
  ['three trainers and two pservers', ['cluster.trainers=3', 'cluster.pservers=2']],
  ['more trainers than lanes, on four pservers', ['cluster.trainers=5', 'cluster.pservers=4', 'cluster.shards=7']],
])('%s make the bits of a plain loop', async (_name, settings) => {
  const place = openPlace();
  await expectPlain(place, await finish(place, ...settings));
});

test('another seed makes other bits', async () => {
  const place = openPlace();
  const { modelDigest } = await finish(place, 'training.seed=2');
  expect(modelDigest).not.toBe((await plainLoop(place)).modelDigest);
});

test('SIGKILL of a trainer, a pserver and the master in mid-run: all go back to a cut, and the bits stay', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, SYNC), SLOWLY);
  for (const role of ['trainer', 'pserver', 'master'] as const) {
    await cutOf(store, (await cutOf(store, 1)) + 1);
    process.kill((await liveOne(place, role)).pid, 'SIGKILL');
    await running.said(new RegExp(`${role}.* ended \\(SIGKILL\\)`));
  }
  await expectPlain(place, await resultOf(running));
  expect(cutIn((await store.get('/checkpoints/cut'))?.value).timeline).toBeGreaterThan(0);
});

test('stopped in mid-run, restored to three pservers, and gone on with', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place, SYNC), SLOWLY);
  await cutOf(store, 1);
  await eventually(async () => {
    const { out } = await place.paddlet('status', '--dir', JOB_FOLDER);
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
