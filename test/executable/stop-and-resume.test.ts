/** `paddlet run`: stopped cleanly, resumed, shown again, and refused when changed. */
import { expect, test } from 'vitest';
import { expectCleanCheckpoints } from './clean-checkpoints.ts';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, SHORT_JOB, SHORT_PASSES, SHORT_TASKS } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, SHORT_SLOWLY, startRun } from './run.ts';

const INTERRUPTED = 130;
const USAGE = 2;

test('Ctrl-C in mid-run; a changed job is refused; the same command goes on; then it shows the result', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place, SHORT_JOB), SHORT_SLOWLY);
  await store.passesOver(1, running);
  running.kill('SIGINT');
  const stopped = await running.ended;
  expect(stopped).toMatchObject({ code: INTERRUPTED, out: '' });
  expect(stopped.err).toContain('run the same command again to resume');
  await expectMidRun(store, SHORT_TASKS);
  await expectCleanCheckpoints(place, store);
  expect(place.alive()).toEqual([]);

  const refused = await place.paddlet(...args, '--set', `training.passes=${SHORT_PASSES - 1}`);
  expect(refused.code).toBe(USAGE);
  const changed = await place.paddlet(...args, '--set', 'training.batchSize=10');
  expect(changed.code).toBe(USAGE);
  expect(JSON.parse(changed.out)).toMatchObject({
    error: {
      code: 'JobConflict',
      exit: USAGE,
      message: expect.stringContaining('training.batchSize: 100 → 10'),
      hint: expect.stringContaining('--fresh'),
    },
  });
  await expectMidRun(store, SHORT_TASKS);

  const resumed = place.start('run again', args);
  const result = await resultOf(resumed);
  expect(resumed.err).toMatch(new RegExp(`job planted resumes in pass \\d of ${SHORT_PASSES}\\b`));
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'), SHORT_PASSES);

  const shown = place.start('run of a finished job', args);
  expect(await resultOf(shown)).toEqual(result);
  expect(shown.err).not.toContain('logs in');
  expect(shown.err).toContain('job planted was finished before: nothing is trained');

  const other = await place.paddlet(...args, '--set', 'optimizer.learningRate=0.5');
  expect([other.code, JSON.parse(other.out)]).toMatchObject([USAGE, { error: { code: 'JobConflict' } }]);
});
