/** What users get wrong is told clearly, with the right exit code, before anything is lost. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { plantedJob, UNHURRIED_JOB } from './planted-job.ts';

const USAGE = 2;
const DATA = 3;
const PASSES = 2;
const RECORDS = 16_000;
const SMALL = {
  ...UNHURRIED_JOB,
  data: { ...UNHURRIED_JOB.data, recordsPerTask: 2_000 },
  training: { passes: PASSES, batchSize: 500 },
  cluster: { ...UNHURRIED_JOB.cluster, pservers: 1 },
};

test('a misspelt field of the job file: its line, its name, and the right one', async () => {
  const place = openPlace();
  const job = place.path('job.yaml');
  writeFileSync(
    job,
    [
      'name: misspelt',
      'data: { train: train.libsvm, format: libsvm }',
      'model: { type: lr }',
      'training:',
      '  passes: 2',
      '  batchsize: 50',
    ].join('\n'),
  );
  for (const role of ['run', 'master']) {
    const { code, out, err } = await place.paddlet(role, 'job.yaml', '--store', 'sqlite:store.db');
    expect({ code, out }).toEqual({ code: USAGE, out: '' });
    expect(err).toMatch(/^error JobInvalid: .*job\.yaml:6/s);
    expect(err).toContain('batchsize');
    expect(err).toContain('batchSize');
  }
});

test('an address to listen on that cannot be used is refused before there is a job', async () => {
  const place = openPlace();
  for (const line of [
    ['pserver', '--index', '0', '--listen', ':8080'],
    ['trainer', '--listen', '127.0.0.1:99999'],
    ['trainer', '--advertise', 'a b'],
  ]) {
    const { code, err } = await place.paddlet(...line, '--store', 'sqlite:store.db');
    expect({ code, err }).toEqual({ code: USAGE, err: expect.stringMatching(/^error Usage: address /m) });
  }
});

test('a data file that does not exist is named', async () => {
  const place = openPlace();
  const job = place.writeJob(SMALL);
  const { code, err } = await place.paddlet('run', job);
  expect(code).toBe(DATA);
  expect(existsSync(place.path('.paddlet/planted/store.db'))).toBe(false);
  expect(err).toMatch(new RegExp(`^error DataMissing: .*${place.path('train.libsvm')}`, 'm'));
  expect(place.alive()).toEqual([]);
});

/** Breaks three lines of the training data, all in one task, from line `first` on. */
async function withBrokenLines(place: Place, maxBadRecords: number, first: number): Promise<string> {
  const job = await plantedJob(place, { ...SMALL, data: { ...SMALL.data, maxBadRecords } });
  const path = place.path('train.libsvm');
  const lines = readFileSync(path, 'utf8').split('\n');
  lines.splice(first - 1, 3, '1 5:x', 'two 5:1', '1 5');
  writeFileSync(path, lines.join('\n'));
  return job;
}

test('broken lines, more than a task may have: the job fails, showing them with file and line', async () => {
  const place = openPlace();
  const { code, err } = await place.paddlet('run', await withBrokenLines(place, 2, 542));
  expect(code).toBe(DATA);
  expect(err).toMatch(
    /^error TooManyBadRecords: .*expected at most 2 bad records in a task \(data\.maxBadRecords\), got 3/m,
  );
  for (const line of [542, 543, 544]) expect(err).toContain(`train.libsvm:${line}: `);
  expect(err).toMatch(/^ *hint: .*data\.maxBadRecords/m);
  expect(readFileSync(place.path('.paddlet/planted/logs/master.log'), 'utf8')).not.toContain('returned to the queue');
});

test('ids and labels of any size that the documents promise train, and the model has them', async () => {
  const place = openPlace();
  const ids = [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n];
  writeFileSync(place.path('train.svm'), ids.map((id) => `1600000000000000000 ${id}:1\n0 7:1\n`).join(''));
  writeFileSync(place.path('test.svm'), ids.map((id) => `${id} ${id}:1\n`).join(''));
  const job = place.writeJob({
    ...{ name: 'large', data: { train: 'train.svm', test: 'test.svm', format: 'libsvm' } },
    model: { type: 'lr', task: 'regression' },
    cluster: { pservers: 2, trainers: 1 },
  });
  const result = await resultOf(place.start('run', ['run', job, '--dir', 'job', '--json']));
  expect(result.records).toMatchObject({ applied: 2 * ids.length, bad: 0 });
  expect(result.metrics.test?.records).toBe(ids.length);
  await place.json('checkpoint', 'export', 'job', '--as', 'csv', '--output', 'csv');
  const rows = readFileSync(place.path('csv/sparse-w.csv'), 'utf8').matchAll(/^(\d+),/gm);
  expect([...rows].map(([, id]) => BigInt(id!)).sort((a, b) => (a < b ? -1 : 1))).toEqual([7n, ...ids]);
});

test('broken lines, as many as a task may have: they are in the account and in the log, and nothing is lost', async () => {
  const place = openPlace();
  const job = await withBrokenLines(place, 3, 42);
  const { badRecordFolder, ...rest } = (await place.json('run', job, '--dir', 'job')) as Record<string, unknown>;
  const result = jobResultSchema.parse(rest);
  const bad = PASSES * 3;
  expect(result.records).toMatchObject({ applied: PASSES * RECORDS - bad, bad, discarded: 0, lost: 0 });
  const logs = [0, 1].map((trainer) => readFileSync(place.path(`job/logs/trainer-${trainer}.log`), 'utf8')).join('\n');
  const folder = place.path('job/bad-records');
  expect(badRecordFolder).toBe(folder);
  const listed = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const lines = listed.join('').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ file: 'train.libsvm', line: 42, set: 'train', text: '1 5:x' }),
    expect.objectContaining({ file: 'train.libsvm', line: 43, set: 'train', text: 'two 5:1' }),
    expect.objectContaining({ file: 'train.libsvm', line: 44, set: 'train', text: '1 5' }),
  ]);
  for (const line of [42, 43, 44]) expect(logs).toMatch(new RegExp(`bad record: .*train\\.libsvm:${line}: `));
});

test.each(['async', 'sync'] as const)(
  'broken lines alone, as many as are allowed: a job that trained on nothing has failed, %s',
  async (mode) => {
    const place = openPlace();
    const data = { ...SMALL.data, recordsPerTask: RECORDS, maxBadRecords: RECORDS };
    const training = { ...SMALL.training, passes: 1, mode };
    const job = place.writeJob({ ...SMALL, data, training, cluster: { ...SMALL.cluster, trainers: 1 } });
    // More than is looked at before the start.
    writeFileSync(place.path('train.libsvm'), '0 seven:1\n1 seven:1\n'.repeat(RECORDS / 2));
    writeFileSync(place.path('test.libsvm'), '0 7:1\n');
    const { code, err } = await place.paddlet('run', job);
    expect(code).toBe(DATA);
    expect(err).toMatch(/^error DataInvalid: no good records in .*train\.libsvm: .*train\.libsvm:1: /m);
  },
);
