/** The number of records per task is chosen once, from the records that are trained on. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseJobFile } from '../../../src/job/load-job.ts';
import { indexJob } from '../../../src/roles/master/index-job.ts';
import { testPlace } from '../../data/place.ts';

const RECORDS = 1000;

function indexed(data: string, training = 'batchSize: 2') {
  const place = testPlace();
  const lines = Array.from({ length: RECORDS }, (_, at) => `${at % 2} ${at + 1}:1\n`);
  writeFileSync(join(place.folder, 'all'), lines.join(''));
  const text = `name: a\ndata: { format: libsvm, train: all${data} }\nmodel: { type: lr }\ntraining: { ${training} }\n`;
  return indexJob(place, parseJobFile('job.yaml', text));
}

it('is that of the file, if the file has one', async () => {
  const { job, data } = await indexed(', recordsPerTask: 300');
  expect(job.data.recordsPerTask).toBe(300);
  expect([...data.train.taskRecords]).toEqual([300, 300, 300, 100]);
});

it('is chosen from the records, and tasks have that size', async () => {
  const { job, data } = await indexed('');
  expect(job.data.recordsPerTask).toBe(32);
  expect(data.train.tasks).toHaveLength(32);
  expect(data.train.taskRecords[0]).toBe(32);
  expect((await indexed(', recordsPerTask: auto', 'batchSize: 2, lanes: 1')).job.data.recordsPerTask).toBe(250);
});

it('does not depend on the number of processes', async () => {
  const file = (cluster: string) => indexed('', `batchSize: 2 }\ncluster: { ${cluster}`);
  const [few, many] = [await file('trainers: 1, pservers: 1'), await file('trainers: 30, pservers: 7')];
  expect(few.job.data.recordsPerTask).toBe(many.job.data.recordsPerTask);
});

it('counts only training records, and cuts test records alike', async () => {
  const { job, data } = await indexed(', split: { test: 0.5 }');
  const { records } = data.train.index;
  expect(records).toBeLessThan(600);
  expect(job.data.recordsPerTask).toBe(Math.ceil(Math.ceil(records / 32) / 2) * 2);
  expect(data.test?.taskRecords[0]).toBe(job.data.recordsPerTask);
});
