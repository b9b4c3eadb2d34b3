/** A job all of whose records are bad has no result, however many bad ones it allows. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { modelOf } from '../../../src/cluster/job/job-model.ts';
import { loadJobData } from '../../../src/roles/master/dataset.ts';
import { refuseNoneGood } from '../../../src/roles/master/finish-job.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { testPlace } from '../../data/place.ts';

const NONE = { read: 6, applied: 0, duplicate: 0, bad: 6, discarded: 0, lost: 0 };

async function aWork() {
  const place = testPlace();
  writeFileSync(join(place.folder, 'train.libsvm'), '1,2\n3,4\n5,6\n');
  const job = aJob();
  const record = recordOf(job);
  return { place, record, model: modelOf(record), data: await loadJobData(place, job) };
}

it.each([
  ['none is good', {}],
  ['none that was not discarded is good', { discarded: 3, bad: 3 }],
])('%s: the first bad ones are shown', async (_, counts) => {
  await expect(refuseNoneGood(await aWork(), { records: { ...NONE, ...counts } })).rejects.toMatchObject({
    code: 'DataInvalid',
    message: expect.stringMatching(/^no good records in train.libsvm: train.libsvm:1: .*CSV/),
  });
});

it('the data is gone by then: it is said without them', async () => {
  const work = await aWork();
  const place = { ...work.place, folder: `${work.place.folder}/gone` };
  await expect(refuseNoneGood({ ...work, place }, { records: NONE })).rejects.toMatchObject({
    code: 'DataInvalid',
    message: 'no good records in train.libsvm',
  });
});

it.each([
  ['one is good', { applied: 1, bad: 5 }],
  ['none is bad: all tasks were discarded', { discarded: 6, bad: 0 }],
])('%s', async (_, counts) => {
  await refuseNoneGood(await aWork(), { records: { ...NONE, ...counts } });
});
