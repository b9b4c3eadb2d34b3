/**
 * Each combination of admission, eviction and bound with real processes (docs/decisions/0168): 18 tables of one job
 * (logged/limited-job.ts). The processes log the updates that each shard applies. The reference replays the logs, and
 * has the same rows, values, candidates, counts, `seen`, begins and looks, bit by bit: in the final files, and whenever
 * a process took a shard over from a file or another process.
 */
import { expect, test } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { expectEvents, type Fault, runThroughFaults, SLOWLY } from './logged/faults.ts';
import { DELTAS, JOB, SYNC, WITH_BAD_TASKS, writeJob } from './logged/limited-job.ts';
import { candidatesIn, deltasLoaded, expectReplayed, stop } from './logged/logged-run.ts';
import { JOB_FOLDER, startRun } from './run.ts';

const COPIED = { pservers: 2, trainers: 2, replicas: 2 };
/** In sync mode, the nightly test has the other faults. */
const FAULTS: Readonly<Record<'async' | 'sync', readonly Fault[]>> = {
  async: [
    { type: 'killOne' },
    { type: 'resize', pservers: 3 },
    { type: 'killTrainer' },
    { type: 'killPservers' },
    { type: 'restore', pservers: 1 },
  ],
  sync: [{ type: 'killOne' }, { type: 'resize', pservers: 3 }, { type: 'killPservers' }],
};

/** All die while their newest files are deltas, which are restored into one pserver. */
const WITH_DELTAS: readonly Fault[] = [...FAULTS.async.slice(0, -1), { type: 'restoreKilled', pservers: 1 }];

/** After this number of passes, the job is stopped. The trainer is slow by then, so the job is not over. */
const STOPS = [
  { passes: 1, fastPushes: 42, pservers: 3 },
  { passes: 3, fastPushes: 78, pservers: 2 },
];

const digestsIn = ({ modelDigest, stateDigest }: JobResult): object => ({ modelDigest, stateDigest });

/** The digests of a run that no fault hits, with one pserver and one trainer. */
async function plainDigests(job: typeof JOB): Promise<object> {
  const place = openPlace();
  return digestsIn(await resultOf(place.start('run', ['run', writeJob(place, job), '--dir', JOB_FOLDER, '--json'])));
}

/** One trainer works on the job. It is stopped twice, and restored into other numbers of pservers. */
async function stoppedTwice(place: Place, job: string): Promise<JobResult> {
  for (const { passes, fastPushes, pservers } of STOPS) {
    const run = await startRun(place, job, `trainer.pushed:delay=500@${fastPushes}+`, JOB.name);
    await run.store.passesOver(passes, run.running);
    await stop(run);
    // Some ids are on their way to a row: their counts must not start over.
    expect(await candidatesIn(place, run.store)).toBeGreaterThan(0);
    await place.json('restore', '--dir', JOB_FOLDER, '--pservers', String(pservers));
  }
  return resultOf((await startRun(place, job, '', JOB.name)).running);
}

test.each([
  ['bases', false],
  ['deltas', true],
])('async mode, with %s: each shard is what the reference makes of its log', async (_, hasDeltas) => {
  const place = openPlace();
  const job = writeJob(place, { ...WITH_BAD_TASKS, ...(hasDeltas ? DELTAS : {}) }, COPIED);
  const faults = hasDeltas ? WITH_DELTAS : FAULTS.async;
  const result = await runThroughFaults({ place, job, slowly: SLOWLY.async, faults, hasDeltas });
  if (hasDeltas) expect(deltasLoaded(place)).toBeGreaterThan(0);
  expect(result.records.lost).toBe(0);
  const facts = await expectReplayed(place, result);
  expectEvents(facts, true);
  expect(facts.closes).toBeGreaterThan(0);
});

test('sync mode, with deltas: the same, and the digests are those of one pserver and one trainer', async () => {
  const expected = await plainDigests({ ...SYNC, ...DELTAS });
  const place = openPlace();
  const job = writeJob(place, { ...SYNC, ...DELTAS }, COPIED);
  const result = await runThroughFaults({ place, job, slowly: SLOWLY.sync, faults: FAULTS.sync, hasDeltas: true });
  expect(deltasLoaded(place)).toBeGreaterThan(0);
  expect(digestsIn(result)).toEqual(expected);
  const facts = await expectReplayed(place, result);
  // Each pass has all ids again.
  expectEvents(facts, false);
  expect(facts.timelines).toBe(1);
});

test('async mode, one trainer: stopped twice and restored into others, the job ends with the same bits', async () => {
  const job = { ...JOB, training: { ...JOB.training, pullAhead: 0 } };
  const expected = await plainDigests(job);
  const place = openPlace();
  expect(digestsIn(await stoppedTwice(place, writeJob(place, job)))).toEqual(expected);
});
