/** Pservers and trainers come and go while a job runs: nothing is lost, and nothing counts twice. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPlace, type Place, resultOf } from './harness.ts';
import type { JobStore } from './job-store.ts';
import { expectWhole, plantedJob, SHORT_PASSES, SHORT_TASKS, SHORT_TRAINING } from './planted-job.ts';
import { RESIZABLE, resize, UNITS } from './resizable-job.ts';
import { eventually, expectMidRun, JOB_FOLDER, liveProcesses, startRun } from './run.ts';

/** The job goes on through four changes of size, one after the other. */
const VERY_SLOWLY = 'trainer.dealt:delay=600';
const USAGE = 2;

/** Of pservers with these indexes that have left: no key, and no file. */
async function expectNothingLeft(place: Place, store: JobStore, indexes: readonly number[]): Promise<void> {
  const keys = [...(await store.entries()).keys()];
  for (const index of indexes) {
    for (const key of [`/ps/${index}`, `/pservers/${index}`, `/checkpoints/${index}`]) expect(keys).not.toContain(key);
    expect(existsSync(place.path(JOB_FOLDER, 'checkpoints', String(index)))).toBe(false);
  }
}

test('up and down in mid-run, and resumed with the present numbers', async () => {
  const place = openPlace();
  const job = await plantedJob(place, { ...RESIZABLE, ...SHORT_TRAINING });
  const { running, store, args } = await startRun(place, job, VERY_SLOWLY);
  await store.until((entries) => [...entries.keys()].some((key) => key.startsWith('/tasks/blocks/')), running);

  expect(await resize(place, '--pservers', '3')).toEqual([11, 11, 10]);
  expect(await resize(place, '--pservers', '4', '--trainers', '3')).toEqual([8, 8, 8, 8]);
  expect(await resize(place, '--pservers', '2', '--trainers', '1')).toEqual([16, 16]);
  await eventually(async () => {
    const roles = (await liveProcesses(place)).map(({ role }) => role).sort();
    expect(roles).toEqual(['master', 'pserver', 'pserver', 'trainer']);
  });
  const refused = await place.paddlet('resize', '--dir', JOB_FOLDER, '--pservers', '5', '--json');
  expect([refused.code, refused.out]).toEqual([USAGE, expect.stringContaining('cluster.maxPservers of the job is 4')]);
  expect(await resize(place, '--pservers', '1')).toEqual([UNITS]);
  await expectMidRun(store, SHORT_TASKS);
  await expectNothingLeft(place, store, [1, 2, 3]);

  running.kill('SIGINT');
  await running.ended;
  const again = place.start('run again', args);
  await again.said(/starting master, pserver 0, trainer 0;/);
  const result = await resultOf(again);
  expect(result.checkpoints.map(({ index }) => index)).toEqual([0]);
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'), SHORT_PASSES);

  const ended = await place.paddlet('resize', '--dir', JOB_FOLDER, '--pservers', '2', '--json');
  expect([ended.code, ended.out]).toEqual([USAGE, expect.stringContaining('has ended')]);
});
