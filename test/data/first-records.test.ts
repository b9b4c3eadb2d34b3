/** The look at the first records: what is certain to fail is refused before anything is started. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type FirstTask, refuseBadStart, refuseOtherFormat } from '../../src/data/first-records.ts';
import { testPlace } from './place.ts';

function placeWith(files: Record<string, string | Buffer>) {
  const place = testPlace();
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(place.folder, name), bytes);
  return place;
}

const TASK: Omit<FirstTask, 'what'> = {
  format: 'libsvm',
  labels: { task: 'binary' },
  recordsPerTask: 10,
  maxBadRecords: 1,
};
const GOOD = '1 1:1\n'.repeat(10);

test('good records, blank lines and comments pass', async () => {
  const place = placeWith({ a: `\ufeff# data\n\n${GOOD}`, empty: '' });
  await refuseBadStart(place, { ...TASK, what: ['a', 'empty'] });
  await refuseOtherFormat(place, { what: ['a', 'empty'], format: 'libsvm' });
});

test('more bad records than the first task may have', async () => {
  const place = placeWith({ a: `1 1:1\n1,2\n3,4\n${GOOD}` });
  await expect(refuseBadStart(place, { ...TASK, what: 'a' })).rejects.toMatchObject({
    code: 'TooManyBadRecords',
    message: expect.stringMatching(
      /^2 of the first 10 records of a are bad: expected at most 1 \(data.maxBadRecords\): a:2: .*CSV/,
    ),
    hint: expect.stringContaining('data.format to csv'),
  });
});

test('no good record at all, as many bad ones as are allowed', async () => {
  const data = { ...TASK, maxBadRecords: 100 };
  await expect(
    refuseBadStart(placeWith({ a: '1,2\n', b: '3,4\n' }), { ...data, what: ['a', 'b'] }),
  ).rejects.toMatchObject({
    code: 'DataInvalid',
    message: expect.stringMatching(/^no good records in a, b: a:1: .*; b:1: .*CSV/),
  });
  const others = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`a${at}`, '1,2\n']));
  for (const files of [{ a: '1,2\n', b: '1 1:1\n' }, { ...others, b: GOOD }, { a: '# none\n' }]) {
    await refuseBadStart(placeWith(files), { ...data, what: Object.keys(files) });
  }
});

test('bad records of later tasks are left to the trainers', async () => {
  await refuseBadStart(placeWith({ a: `${GOOD}1,2\n3,4\n` }), { ...TASK, what: 'a' });
});

test('the first records of a later file may be in two tasks: each may have so many bad ones', async () => {
  await refuseBadStart(placeWith({ a: GOOD, b: `1,2\n3,4\n${GOOD}` }), { ...TASK, what: ['a', 'b'] });
  const place = placeWith({ a: GOOD, b: `1,2\n3,4\n5,6\n${GOOD}` });
  await expect(refuseBadStart(place, { ...TASK, what: ['a', 'b'] })).rejects.toMatchObject({
    message: expect.stringMatching(/^3 of the first 10 records of b are bad/),
  });
});

test('labels of a regression, given to a binary model', async () => {
  const place = placeWith({ a: '24.5 1:1\n21.0 1:2\n' });
  await expect(refuseBadStart(place, { ...TASK, what: 'a' })).rejects.toMatchObject({
    hint: expect.stringContaining('model.task'),
  });
  await refuseBadStart(place, { ...TASK, what: 'a', labels: { task: 'regression' } });
});

test('without a job, a file is refused when none of its first records can be read', async () => {
  const place = placeWith({ a: `1,2\n3,4\n${GOOD}`, b: '1,2\n3,4\n' });
  await refuseOtherFormat(place, { what: 'a', format: 'libsvm' });
  await expect(refuseOtherFormat(place, { what: 'b', format: 'libsvm' })).rejects.toMatchObject({
    code: 'DataInvalid',
    message: expect.stringContaining('cannot read any record of b as libsvm'),
  });
});

test('the hint for a file that looks like nothing names no setting of a job', async () => {
  await expect(refuseOtherFormat(placeWith({ a: 'x 1:1\n' }), { what: 'a', format: 'libsvm' })).rejects.toMatchObject({
    hint: 'compare it with --format libsvm: a libsvm record is a line "label id:value id:value …"',
  });
});

test('of a long gzip file only the beginning is inflated, and nothing is written', async () => {
  const lines = Array.from({ length: 100_000 }, (_, at) => `${at},${Math.sin(at)}`).join('\n');
  const place = placeWith({ 'a.gz': gzipSync(lines) });
  mkdirSync(place.cacheFolder, { recursive: true });
  await expect(refuseBadStart(place, { ...TASK, what: 'a.gz' })).rejects.toMatchObject({
    message: expect.stringContaining('10 of the first 10 records of a.gz'),
  });
  expect(readdirSync(place.cacheFolder)).toEqual([]);
});

test('a first line that is longer than the beginning is left to the trainers', async () => {
  await refuseBadStart(placeWith({ a: `${'x'.repeat(100_000)}\n` }), { ...TASK, what: 'a' });
});

test('a broken gzip file is named', async () => {
  const place = placeWith({ a: Buffer.from([31, 139, 8, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255]) });
  await expect(refuseBadStart(place, { ...TASK, what: 'a' })).rejects.toMatchObject({ code: 'DataInvalid' });
});

test('a tar archive is refused, however many bad records are allowed', async () => {
  const header = Buffer.alloc(512);
  header.write('ok.svm');
  header.write('ustar', 257);
  const place = placeWith({ 'a.tar.gz': gzipSync(Buffer.concat([header, Buffer.from(GOOD)])) });
  await expect(refuseBadStart(place, { ...TASK, what: 'a.tar.gz' })).rejects.toMatchObject({
    code: 'DataInvalid',
    message: 'a.tar.gz is a tar archive',
  });
});
