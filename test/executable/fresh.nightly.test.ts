/** `paddlet run --fresh` beside a run of the same job, after one that died with all its processes, and after a stop. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, startRun } from './run.ts';

const USAGE = 2;
const INTERRUPTED = 130;

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

test('--fresh forgets an unfinished job and its checkpoints', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place));
  await store.passesOver(1, running);
  const first = await store.get('/job');
  running.kill('SIGINT');
  expect((await running.ended).code).toBe(INTERRUPTED);
  await expectMidRun(store);

  const asked = await place.start('run --fresh', [...args, '--fresh']).ended;
  expect([asked.code, asked.out]).toEqual([USAGE, expect.stringContaining('is not finished')]);
  expect(idOf(await store.get('/job'))).toBe(idOf(first));
  const fresh = place.start('run --fresh --yes', [...args, '--fresh', '--yes', '--set', 'training.passes=1']);
  const result = await resultOf(fresh);
  expect(result).toMatchObject({ passes: 1, records: { applied: 16_000, lost: 0 } });
  expect(idOf(await store.get('/job'))).not.toBe(idOf(first));
});

const idOf = (entry: { value: string } | undefined): string =>
  z.object({ id: z.uuid() }).parse(JSON.parse(entry?.value ?? 'null')).id;
