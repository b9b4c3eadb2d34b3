/**
 * A job stopped in mid-run goes on from its checkpoint with another number of pservers, and every record still counts
 * once.
 */
import { readdirSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, SHORT_JOB, SHORT_PASSES, SHORT_TASKS } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, SHORT_SLOWLY, startRun } from './run.ts';

const USAGE = 2;

test('restore is refused while pservers live; then 2 → 3 → 1 → 3, and the job goes on with three', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place, SHORT_JOB), SHORT_SLOWLY);
  await store.passesOver(1, running);
  const restore = (pservers: number) => ['restore', '--dir', JOB_FOLDER, '--pservers', String(pservers)];

  const refused = await place.paddlet(...restore(3), '--json');
  expect(refused.code).toBe(USAGE);
  expect(JSON.parse(refused.out)).toMatchObject({
    error: { code: 'JobConflict', message: expect.stringMatching(/alive: .*\/ps\/0 \(127\.0\.0\.1:\d+\)/) },
  });

  running.kill('SIGINT');
  await running.ended;
  await expectMidRun(store, SHORT_TASKS);
  const digests = async () => {
    const { digests, positions } = (await place.json('checkpoint', 'inspect', '--dir', JOB_FOLDER, '--digest')) as {
      digests: object;
      positions: object;
    };
    return { digests, positions };
  };
  const before = await digests();
  // In a folder that it may not write to, it must do without a file beside the store.
  const changed = () => statSync(place.path(JOB_FOLDER)).mtimeMs;
  const changedBefore = changed();
  expect((await place.paddlet(...restore(3), '--dry-run')).code).toBe(0);
  expect(changed()).toBe(changedBefore);
  for (const pservers of [3, 1, 3]) {
    const ended = await place.paddlet(...restore(pservers), '--json');
    expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('"published":true') });
    expect(await digests()).toEqual(before);
    // Of those that the job does not have any more nothing is left.
    const folders = readdirSync(place.path(JOB_FOLDER, 'checkpoints')).sort();
    expect(folders).toEqual(Array.from({ length: pservers }, (_, index) => String(index)));
  }
  expect((await store.get('/ps_desired'))?.value).toBe('3');

  const result = await resultOf(place.start('run again', args));
  expect(result.checkpoints.map(({ index }) => index)).toEqual([0, 1, 2]);
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'), SHORT_PASSES);
});
