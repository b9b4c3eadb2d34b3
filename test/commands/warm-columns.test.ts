/** A warm start from a job that reads its columns otherwise is refused before anything is started. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { carriedRecord } from '../../src/cluster/job/carried-record.ts';
import { trainedSpecOf } from '../../src/cluster/job/job-model.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { saveCluster } from '../checkpoint/cluster-fixture.ts';
import { aJob, recordOf } from '../cluster/job/stored-job.ts';
import { runCommand } from './run-command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'paddlet-warm-columns-'));
afterAll(() => rmSync(cwd, { recursive: true }));
writeFileSync(join(cwd, 'a.csv'), 'y,a,b,p,q\n0,x,y,1,2\n1,z,y,3,5\n');

const A = { type: 'category', buckets: 50 };
const COLUMNS = { y: 'label', a: A, b: 'category', ab: { cross: ['a', 'b'] }, p: 'number', q: 'number' };
const DEEPFM = { type: 'deepfm', factors: 2, hidden: [2] };
const LR = { type: 'lr' };
const FFM = { type: 'ffm', factors: 2 };
const statistics = ['p', 'q'].map((name) => ({ name, present: 2, missing: 0, mean: 2, deviation: 1, min: 1, max: 5 }));

async function save(name: string, model: object, columns: object = COLUMNS): Promise<void> {
  const job = aJob({ data: { format: 'csv', columns }, model });
  const train = { fieldBound: 5, columns: { fields: 5, statistics: 'p' in columns ? statistics : [] } };
  const record = recordOf(job, { train });
  const saved = { jobId: record.id, parameters: trainedSpecOf(record), seed: 1, shards: job.cluster.shards };
  const meta = { job: carriedRecord(record) };
  await saveCluster({
    storage: createStorage(createDisk()),
    pservers: 1,
    folder: join(cwd, name),
    job: saved,
    ids: [1n],
    meta,
  });
}

async function started(from: string, model: object, columns: object, vars = ['*']) {
  const data = { format: 'csv', train: 'a.csv', columns };
  const warmStart = { from, vars, optimizerState: false };
  writeFileSync(join(cwd, 'job.json'), JSON.stringify({ name: 'warm', data, model, warmStart }));
  const { code, out } = await runCommand(['run', 'job.json', '--dry-run', '--json'], { cwd });
  return { code, message: JSON.parse(out).error?.message ?? '' };
}

test('what decides ids, numbers, and the order of inputs is compared by name', async () => {
  await save('deepfm', DEEPFM);
  await save('lr', LR);
  await save('ffm', FFM);
  const swapped = { y: 'label', a: A, b: 'category', ab: COLUMNS.ab, q: 'number', p: 'number' };
  const others = { y: 'label', b: 'category', a: A, ab: COLUMNS.ab, p: 'number', q: 'number' };
  const refused: [string, object, object, string][] = [
    ['deepfm', DEEPFM, swapped, 'number columns differ, or their order: ["p","q"] in the job of'],
    ['deepfm', DEEPFM, others, 'columns of v differ, or their order: ["a","b"] in the job of'],
    ['ffm', FFM, others, 'columns differ, or their order: ["a","b","ab","p","q"] in the job of'],
    ['lr', LR, { ...COLUMNS, a: { ...A, buckets: 40 } }, 'data.columns.a.buckets differs: 50 in the job of'],
    ['lr', LR, { ...COLUMNS, b: { type: 'category', vocabulary: 'w' } }, 'data.columns.b.vocabulary differs: "b" in'],
    ['lr', LR, { ...COLUMNS, q: 'ignore' }, 'data.columns.q.type differs: "number" in'],
    ['lr', LR, { ...COLUMNS, ab: { cross: ['b', 'a'] } }, 'data.columns.ab.of differs: ["a","b"] in'],
    ['lr', LR, { ...COLUMNS, p: { type: 'number', normalize: 'log' } }, 'data.columns.p.normalize differs: "standard"'],
    ['lr', LR, { ...COLUMNS, p: { type: 'number', quantiles: 3 } }, 'data.columns.p.normalize differs: "standard"'],
  ];
  for (const [from, model, columns, message] of refused) {
    const got = await started(from, model, columns);
    expect(got, message).toEqual({ code: 2, message: expect.stringContaining(message) });
  }
  for (const [from, model, columns, vars] of [
    ['deepfm', DEEPFM, COLUMNS, ['*']],
    // Rows go by ids alone.
    ['deepfm', DEEPFM, swapped, ['v', 'w']],
    ['lr', LR, others, ['*']],
    ['lr', LR, { ...COLUMNS, c: { cross: ['a', 'b'], buckets: 5 } }, ['*']],
  ] as const) {
    expect(await started(from, model, columns, [...vars])).toEqual({ code: 0, message: '' });
  }
});

test('classes in another order are refused', async () => {
  const columns = (classes: string[]) => ({ y: { type: 'label', classes }, p: 'number', q: 'number' });
  await save('softmax', { type: 'softmax' }, columns(['0', '1']));
  const got = await started('softmax', { type: 'softmax' }, columns(['1', '0']));
  expect(got).toEqual({ code: 2, message: expect.stringContaining('classes of the label differ: ["0","1"] in') });
  expect(await started('softmax', { type: 'softmax' }, columns(['0', '1']))).toEqual({ code: 0, message: '' });
});
