/** `paddlet run --fresh` beside a run of the same job, and after one that died with all its processes. */
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, startRun } from './run.ts';

const USAGE = 2;

test('--fresh beside a run is refused, and the run ends as good', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place));
  await store.passesOver(1, running);
  const { code, out } = await place.start('run --fresh', [...args, '--fresh', '--yes']).ended;
  expect(code).toBe(USAGE);
  expect(JSON.parse(out)).toMatchObject({
    error: {
      code: 'JobConflict',
      message: expect.stringContaining(`(pid ${running.pid}, started `),
    },
  });
  await expectMidRun(store);
  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
});

test('--fresh at once after everything was killed: waits for the leases, and starts over', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place, JOB));
  await store.passesOver(1, running);
  // It restarts no process and is the last to die.
  running.kill('SIGSTOP');
  for (const pid of place.alive()) if (pid !== running.pid) process.kill(pid, 'SIGKILL');
  running.kill('SIGKILL');
  await running.ended;
  const fresh = place.start('run --fresh', [...args, '--fresh', '--yes', '--set', 'training.passes=1']);
  expect(await resultOf(fresh)).toMatchObject({ passes: 1, records: { applied: 16_000, lost: 0 } });
});
