/** `paddlet run`: processes of the cluster die in mid-run. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, SHORT_JOB, SHORT_PASSES, SHORT_TASKS } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, liveProcesses, oneOf, ROLES, SHORT_SLOWLY, startRun } from './run.ts';

test('SIGKILL of a trainer, then of the master, in mid-run: the job ends as good', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, SHORT_JOB), SHORT_SLOWLY);
  // Both found while all are alive: asking after the dead takes time, in which the job goes on.
  const processes = await liveProcesses(place, ROLES);
  await store.passesOver(1, running);
  process.kill(oneOf(processes, 'trainer').pid, 'SIGKILL');
  const before = await expectMidRun(store, SHORT_TASKS);
  await running.said(/trainer \d ended \(SIGKILL\); restarting it/);
  await store.passesOver(2, running);
  process.kill(oneOf(processes, 'master').pid, 'SIGKILL');
  expect(await expectMidRun(store, SHORT_TASKS)).toBeGreaterThan(before);
  await running.said(/master ended \(SIGKILL\); restarting it/);

  const result = await resultOf(running);
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'), SHORT_PASSES);
  expect(readFileSync(place.path(JOB_FOLDER, 'logs/master.log'), 'utf8')).toMatch(/resuming in pass \d+ of/);
});
