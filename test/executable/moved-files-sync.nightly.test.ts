/** Sync mode: the commands about checkpoints while units move, and the bits in the end. */
import { expect, test } from 'vitest';
import { referenceOf } from '../sync/reference-loop.ts';
import { openPlace, resultOf } from './harness.ts';
import { DIR, exported, inspected, interrupt, RESIZABLE, resizeUpAndDown, restore, SLOWLY } from './moving-files.ts';
import { JOB, plantedJob } from './planted-job.ts';
import { JOB_FOLDER, startRun } from './run.ts';

test('sync: the exported bits are those of a job of one pserver that is left alone', async () => {
  const place = openPlace();
  const sync = { ...RESIZABLE, training: { mode: 'sync', lanes: 4, passes: 3, batchSize: 50 } };
  const { running, store, args } = await startRun(place, await plantedJob(place, sync), SLOWLY);
  await resizeUpAndDown(place, store, 1);
  await interrupt(running, store);
  await restore(place, 2);

  const { modelDigest, stateDigest, records } = await resultOf(place.start('run again', args));
  const plain = await referenceOf(sync, place.path());
  expect({ modelDigest, stateDigest }).toEqual({ modelDigest: plain.modelDigest, stateDigest: plain.stateDigest });
  expect(records).toMatchObject({ applied: plain.applied, lost: 0 });
  expect((await inspected(place, ...DIR)).digests).toMatchObject({ modelDigest, stateDigest });

  const alone = place.writeJob({ ...sync, name: 'alone', cluster: { ...JOB.cluster, pservers: 1 } }, 'alone.yaml');
  await place.json('run', alone, '--dir', 'alone');
  expect(await exported(place, JOB_FOLDER)).toEqual(await exported(place, 'alone'));
  expect(await place.json('checkpoint', 'diff', 'alone', JOB_FOLDER)).toMatchObject({ same: true, unlike: [] });
});
