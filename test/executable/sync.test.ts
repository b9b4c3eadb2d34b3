/** Sync mode with real processes: whatever the cluster is, and whatever dies, the digests are those of a plain loop. */
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { plantedJob } from './planted-job.ts';
import { liveOne, startRun } from './run.ts';
import { cutIn, cutOf, expectPlain, SLOWLY, SYNC } from './sync-job.ts';

test('SIGKILL of a trainer, a pserver and the master in mid-run: all go back to a cut, and the bits stay', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, SYNC), SLOWLY);
  for (const role of ['trainer', 'pserver', 'master'] as const) {
    await cutOf(store, (await cutOf(store, 1)) + 1);
    process.kill((await liveOne(place, role)).pid, 'SIGKILL');
    await running.said(new RegExp(`${role}.* ended \\(SIGKILL\\)`));
  }
  await expectPlain(place, await resultOf(running));
  expect(cutIn((await store.get('/checkpoints/cut'))?.value).timeline).toBeGreaterThan(0);
});
