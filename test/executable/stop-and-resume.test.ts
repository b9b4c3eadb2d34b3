/** `paddlet run`: stopped cleanly, resumed, shown again, refused when changed, started over. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openPlace, type Place, resultOf } from './harness.ts';
import type { JobStore } from './job-store.ts';
import { expectWhole, PASSES, plantedJob } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, startRun } from './run.ts';

const INTERRUPTED = 130;
const USAGE = 2;

const checkpointSchema = z.object({ uuid: z.uuid(), md5: z.string(), timestamp: z.number(), clean: z.boolean() });

/** Each pserver has published a file after which it applied nothing. */
async function expectCleanCheckpoints(place: Place, store: JobStore): Promise<void> {
  for (const index of [0, 1]) {
    const entry = await store.get(`/checkpoints/${index}`);
    const { uuid, clean } = checkpointSchema.parse(JSON.parse(entry?.value ?? 'null'));
    expect(clean).toBe(true);
    expect(existsSync(place.path(JOB_FOLDER, 'checkpoints', String(index), uuid))).toBe(true);
  }
}

test('Ctrl-C in mid-run; a changed job is refused; the same command goes on; then it shows the result', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place));
  await store.passesOver(2, running);
  running.kill('SIGINT');
  const stopped = await running.ended;
  expect(stopped).toMatchObject({ code: INTERRUPTED, out: '' });
  expect(stopped.err).toContain('run the same command again to resume');
  await expectMidRun(store);
  await expectCleanCheckpoints(place, store);
  expect(place.alive()).toEqual([]);

  const refused = await place.paddlet(...args, '--set', `training.passes=${PASSES - 1}`);
  expect(refused.code).toBe(USAGE);
  const changed = await place.paddlet(...args, '--set', 'training.batchSize=10');
  expect(changed.code).toBe(USAGE);
  expect(JSON.parse(changed.out)).toMatchObject({
    error: {
      code: 'JobConflict',
      exit: USAGE,
      message: expect.stringContaining('training.batchSize: 50 → 10'),
      hint: expect.stringContaining('--fresh'),
    },
  });
  await expectMidRun(store);

  const result = await resultOf(place.start('run again', args));
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'));

  const shown = place.start('run of a finished job', args);
  expect(await resultOf(shown)).toEqual(result);
  expect(shown.err).not.toContain('logs in');

  const other = await place.paddlet(...args, '--set', 'optimizer.learningRate=0.5');
  expect([other.code, JSON.parse(other.out)]).toMatchObject([USAGE, { error: { code: 'JobConflict' } }]);
});

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
