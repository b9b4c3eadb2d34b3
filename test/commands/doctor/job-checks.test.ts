/** What `paddlet doctor JOB` says of the data of a job, from the beginnings of its files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Host } from '../../../src/base/seams.ts';
import { runCheck } from '../../../src/commands/doctor/check.ts';
import { jobChecks } from '../../../src/commands/doctor/job-checks.ts';
import { testPlace } from '../../data/place.ts';

const GOOD = '1 1:1\n0 2:1\n';
const LONG = Array.from({ length: 50_000 }, (_, at) => `${at % 2} ${(at * 7919) % 100_003}:1`).join('\n');

/** The finding on a job with these files; `test` is its test file if there is one. */
async function check(files: Record<string, string | Buffer>, job: object = {}, format = 'libsvm') {
  const place = testPlace();
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(place.folder, name), bytes);
  const model = { type: format === 'idx' ? 'softmax' : 'lr' };
  const data = { train: 'train*', format, ...('test' in files && { test: 'test' }) };
  const path = join(place.folder, 'job.yaml');
  writeFileSync(path, JSON.stringify({ name: 'x', data, model, ...job }));
  const checks = jobChecks(place.host as Host, { path, sets: [], dataDir: undefined, cacheDir: place.cacheFolder });
  const { status, detail, hint } = await runCheck(checks.find(({ name }) => name === 'data')!);
  return { status, detail: detail.replaceAll(place.folder, ''), hint };
}

test('files that are seen as a whole, and longer ones', async () => {
  const seen = '1 training and 1 test files in ';
  expect(await check({ train: GOOD, test: GOOD })).toMatchObject({ status: 'ok', detail: seen });
  expect(await check({ train: GOOD, test: LONG })).toMatchObject({ detail: `${seen}; first records only` });
  expect(await check({ train: gzipSync(LONG), test: GOOD })).toMatchObject({ detail: `${seen}; first records only` });
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`train${at}`, GOOD]));
  expect((await check(many)).detail).toMatch(/^9 training .*first records only$/);
});

test.each([
  ['an empty training file', { train: '' }, 'no records in train'],
  ['comments only', { train1: '# a\n\n', train2: gzipSync(' # b') }, 'no records in train1, train2'],
  ['an empty test file', { train: GOOD, test: '' }, 'no records in test'],
])('%s fails, as it does in a run', async (_, files, detail) => {
  expect(await check(files)).toMatchObject({ status: 'fail', detail });
});

test('idx files without a record', async () => {
  const images = Buffer.from([0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28]);
  const found = await check(
    { 'train-images': images, 'train-labels': Buffer.from([0, 0, 8, 1, 0, 0, 0, 0]) },
    {},
    'idx',
  );
  expect(found).toMatchObject({ status: 'fail', detail: 'no records in train-images' });
});

test('a short gzip file that is cut off', async () => {
  const whole = gzipSync(GOOD);
  const { status, detail } = await check({ train: whole.subarray(0, whole.length - 6) });
  expect([status, detail]).toEqual(['fail', expect.stringContaining('train is not a valid gzip file')]);
});

test('labels 0 and -1, in one file or in two, are a warning for a binary model', async () => {
  const three = `${GOOD}-1 3:1\n`;
  const warning = {
    status: 'warn',
    detail: expect.stringContaining('both the label 0 and the label -1'),
    hint: expect.anything(),
  };
  expect(await check({ train: three })).toMatchObject(warning);
  expect(await check({ train: GOOD, test: '1 1:1\n-1 3:1\n' })).toMatchObject(warning);
  expect(await check({ train: three }, { model: { type: 'lr', task: 'regression' } })).toMatchObject({ status: 'ok' });
  expect(await check({ train: '+1 1:1\n-1 3:1\n' })).toMatchObject({ status: 'ok' });
});

test('bad records among the first are a warning, unless the job allows for them', async () => {
  const files = { train: `${GOOD}1 x:1\n` };
  expect(await check(files, { data: { train: 'train*', format: 'libsvm', split: { test: 0.5 } } })).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('; 1 of the first records is bad: train:3: '),
    hint: 'fix them, or raise data.maxBadRecords',
  });
  const data = { train: 'train*', format: 'libsvm', split: { test: 0.5 }, maxBadRecords: 1 };
  expect(await check(files, { data })).toMatchObject({ status: 'ok' });
});

test('a file without features beside the data is a warning', async () => {
  expect(await check({ 'train.txt': GOOD, 'train.txt.weight': '1\n0.0\n' })).toMatchObject({
    status: 'warn',
    detail: expect.stringMatching(/; no record of train.txt.weight has a feature$/),
    hint: expect.stringContaining('XGBoost'),
  });
  expect(await check({ train: `0\n${GOOD}` })).toMatchObject({ status: 'ok' });
});
