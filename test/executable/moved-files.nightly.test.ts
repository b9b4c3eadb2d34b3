/**
 * The commands about checkpoints and models while units move between pservers, and of the files of a cluster that was
 * resized.
 */

import { expect, test } from 'vitest';
import { openCheckpoint } from '../../src/checkpoint/file/reader.ts';
import { type JobResult, jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { CHECKPOINTS, DIR, exported, interrupt, RESIZABLE, resizeUpAndDown, restore, SLOWLY } from './moving-files.ts';
import { expectWhole, JOB, PASSES, plantedJob } from './planted-job.ts';
import { JOB_FOLDER, startRun } from './run.ts';

const RECORDS = 16_000;
const BATCHES_PER_PASS = RECORDS / JOB.training.batchSize;

/** Updates of the bias over all pservers, as Adam counts them. */
async function biasSteps(place: Place, folder: string, { checkpoints }: JobResult): Promise<number> {
  let steps = 0;
  for (const { index, uuid } of checkpoints) {
    const reader = await openCheckpoint(
      createStorage(createDisk()),
      place.path(folder, 'checkpoints', String(index), uuid),
    );
    for (const { shard } of reader.positions) for await (const { step } of reader.blocksOf(shard)) steps += step ?? 0;
    await reader.close();
  }
  return steps;
}

test('async: save, evaluate, export while units move; restore, resume and a warm start from the files', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place, RESIZABLE), SLOWLY);
  await resizeUpAndDown(place, store, 2);
  await interrupt(running, store);
  await restore(place, 3);

  const result = await resultOf(place.start('run again', args));
  expect(result.checkpoints.map(({ index }) => index)).toEqual([0, 1, 2]);
  await expectWhole(place, result, place.path(CHECKPOINTS));
  expect(await place.json('evaluate', ...DIR)).toMatchObject({ model: 'checkpoints', auc: result.metrics.test?.auc });
  expect(await exported(place, JOB_FOLDER, 'safetensors')).toEqual({});

  const cluster = { ...JOB.cluster, pservers: 1, shards: 5 };
  const second = {
    ...JOB,
    name: 'second',
    cluster,
    warmStart: { from: JOB_FOLDER },
    training: { passes: 1, batchSize: JOB.training.batchSize },
  };
  const warm = jobResultSchema.parse(await place.json('run', place.writeJob(second, 'second.yaml'), '--dir', 'second'));
  expect(warm.warmStart).toMatchObject({ job: JOB.name, loaded: [{ name: 'bias' }, { name: 'w' }] });
  expect(await biasSteps(place, 'second', warm)).toBe((PASSES + 1) * BATCHES_PER_PASS);
});
