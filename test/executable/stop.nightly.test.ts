import { expect, test } from 'vitest';
import { expectCleanCheckpoints } from './clean-checkpoints.ts';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, startRun } from './run.ts';

const INTERRUPTED = 130;

test('paddlet stop in mid-run; the same command goes on', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place));
  await store.passesOver(2, running);
  expect(await place.json('stop', '--dir', JOB_FOLDER)).toEqual({ stopped: true });
  expect((await running.ended).code).toBe(INTERRUPTED);
  await expectMidRun(store);
  await expectCleanCheckpoints(place, store);

  await expectWhole(place, await resultOf(place.start('run again', args)), place.path(JOB_FOLDER, 'checkpoints'));
});
