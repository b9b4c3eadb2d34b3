/**
 * Each combination of admission, eviction and bound with real processes (docs/decisions/0168): 18 tables of one job
 * (logged/limited-job.ts). The processes log the updates that each shard applies. The reference replays the logs, and
 * has the same rows, values, candidates, counts, `seen`, begins and looks, bit by bit: in the final files, and whenever
 * a process took a shard over from a file or another process.
 */
import { expect, test } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { JOB, RULES, SYNC, WITH_BAD_TASKS, writeJob } from './logged/limited-job.ts';
import type { Facts } from './logged/lineages.ts';
import {
  candidatesIn,
  expectReplayed,
  killPservers,
  startLogged,
  stop,
  untilSaved,
  untilWhole,
} from './logged/logged-run.ts';
import { JOB_FOLDER, startRun } from './run.ts';

/** The job lasts until all faults have struck. Trainers die when one pserver has a push, and the other may not. */
const SLOWLY = {
  async: 'trainer.pushed:delay=150,trainer.pserver-acknowledged:kill@61',
  sync: 'trainer.lanes-pushed:delay=150,trainer.lane-acknowledged:kill@61',
};

const COPIED = { pservers: 2, trainers: 2, replicas: 2 };

const digestsIn = ({ modelDigest, stateDigest }: JobResult): object => ({ modelDigest, stateDigest });

/**
 * One pserver dies, and copies take over. A third one comes. All die, and load files. The job is stopped, restored into
 * one pserver, and continued to its end.
 */
async function runThroughFaults(place: Place, job: string, slowly: string): Promise<JobResult> {
  const run = await startLogged(place, job, slowly);
  await untilWhole(run.store, run.running);
  await untilSaved(run.store, run.running);
  await killPservers(place, run, 1);
  await place.json('resize', '--dir', JOB_FOLDER, '--pservers', '3');
  await untilSaved(run.store, run.running);
  await killPservers(place, run, 3);
  await stop(run);
  expect(await candidatesIn(place, run.store)).toBeGreaterThan(0);
  await place.json('restore', '--dir', JOB_FOLDER, '--pservers', '1');
  const { running } = await startLogged(place, job);
  return resultOf(running);
}

/** Each rule had something to do. `isUnseen`: whether some ids are in no update of a pass. */
function expectEvents({ events, takenOver }: Facts, isUnseen: boolean): void {
  for (const [table, { eviction, maxBytes }] of Object.entries(RULES)) {
    const isEvicting = eviction !== undefined && ('unseenUpdates' in eviction || isUnseen);
    if (isEvicting && maxBytes === undefined) expect(events.get(`${table} unseen`)).toBeGreaterThan(0);
    if (maxBytes !== undefined) expect(events.get(`${table} bound`)).toBeGreaterThan(0);
  }
  expect(takenOver).toBeGreaterThan(0);
}

test('async mode: each shard is what the reference makes of its log', async () => {
  const place = openPlace();
  const result = await runThroughFaults(place, writeJob(place, WITH_BAD_TASKS, COPIED), SLOWLY.async);
  const facts = await expectReplayed(place, result);
  expectEvents(facts, true);
  expect(facts.closes).toBeGreaterThan(0);
  expect(result.records.lost).toBe(0);
});

test('sync mode: so it is, and the digests are those of one pserver and one trainer', async () => {
  const plain = openPlace();
  const alone = plain.start('run', ['run', writeJob(plain, SYNC), '--dir', JOB_FOLDER, '--json']);
  const expected = digestsIn(await resultOf(alone));
  const place = openPlace();
  const result = await runThroughFaults(place, writeJob(place, SYNC, COPIED), SLOWLY.sync);
  expect(digestsIn(result)).toEqual(expected);
  const facts = await expectReplayed(place, result);
  expectEvents(facts, false);
  expect(facts.timelines).toBe(1);
});

test('async mode, one trainer: stopped twice and restored into others, the job ends with the same bits', async () => {
  const cluster = { pservers: 1, trainers: 1 };
  const one = { ...JOB, training: { ...JOB.training, pullAhead: 0 } };
  const plain = openPlace();
  const alone = plain.start('run', ['run', writeJob(plain, one, cluster), '--dir', JOB_FOLDER, '--json']);
  const expected = digestsIn(await resultOf(alone));

  const place = openPlace();
  const job = writeJob(place, one, cluster);
  for (const [passes, pservers] of [
    [1, 3],
    [3, 2],
  ] as const) {
    const run = await startRun(place, job, 'trainer.pushed:delay=50', JOB.name);
    await run.store.passesOver(passes, run.running);
    await stop(run);
    // Some ids are on their way to a row: their counts must not start over.
    expect(await candidatesIn(place, run.store)).toBeGreaterThan(0);
    await place.json('restore', '--dir', JOB_FOLDER, '--pservers', String(pservers));
  }
  const { running } = await startRun(place, job, '', JOB.name);
  expect(digestsIn(await resultOf(running))).toEqual(expected);
});
