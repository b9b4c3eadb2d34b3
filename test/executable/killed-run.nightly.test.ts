/** `paddlet run` itself dies in mid-run. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, TASKS_PER_PASS } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, startRun } from './run.ts';

test('SIGKILL of the run itself: its processes leave cleanly, and the same command goes on', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place));
  await store.passesOver(2, running);
  running.kill('SIGKILL');
  expect(await running.ended).toMatchObject({ signal: 'SIGKILL' });
  await store.until((entries) => ![...entries.values()].some(({ leaseId }) => leaseId !== 0n));
  await expect.poll(() => place.alive()).toEqual([]);
  const done = await expectMidRun(store);

  const again = place.start('run again', args);
  await expectWhole(place, await resultOf(again), place.path(JOB_FOLDER, 'checkpoints'));
  const log = readFileSync(place.path(JOB_FOLDER, 'logs/master.log'), 'utf8');
  expect(log).toContain('the launcher has exited; stopping');
  const [, pass, inPass] = /resuming in pass (\d+) of \d+ done=(\d+)/.exec(log)!.map(Number);
  expect((pass! - 1) * TASKS_PER_PASS + inPass!).toBe(done);
});
