import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveFiles } from '../../src/data/place.ts';
import { testFolder, testPlace } from './place.ts';

const place = testPlace();
for (const folder of ['days', 'days/b', 'days/a', 'days/.hidden', 'empty']) mkdirSync(join(place.folder, folder));
const names = ['a9a.gz', 'a9a.t.gz', 'ünï.txt', 'days/a/1.txt', 'days/a/10.txt', 'days/a/2.txt', 'days/b/1.txt'];
for (const name of [...names, 'days/_SUCCESS', 'days/.hidden/x', 'days/a/.crc']) {
  writeFileSync(join(place.folder, name), '');
}
const resolved = (what: string | string[]): Promise<string[]> => resolveFiles(place, what);

test('a file, a list, a folder, a glob', async () => {
  expect(await resolved('a9a.gz')).toEqual(['a9a.gz']);
  expect(await resolved(['a9a.t.gz', './a9a.gz', 'a9a.gz'])).toEqual(['a9a.gz', 'a9a.t.gz']);
  expect(await resolved('days')).toEqual(['days/a/1.txt', 'days/a/10.txt', 'days/a/2.txt', 'days/b/1.txt']);
  expect(await resolved('days/*/1.txt')).toEqual(['days/a/1.txt', 'days/b/1.txt']);
  expect(await resolved(['a9a*', 'days/b'])).toEqual(['a9a.gz', 'a9a.t.gz', 'days/b/1.txt']);
});

test('the order is that of the bytes', async () => {
  writeFileSync(join(place.folder, 'z.txt'), '');
  expect(await resolved(['ünï.txt', 'z.txt'])).toEqual(['z.txt', 'ünï.txt']);
});

test('files elsewhere keep the way they were named', async () => {
  const other = testFolder();
  writeFileSync(join(other, 'x.txt'), '');
  expect(await resolved(join(other, 'x.txt'))).toEqual([join(other, 'x.txt')]);
  expect(await resolved(join(place.folder, 'a9a.gz'))).toEqual(['a9a.gz']);
  const inner = { ...place, folder: join(place.folder, 'days') };
  expect(await resolveFiles(inner, '../a9a.gz')).toEqual(['../a9a.gz']);
});

test.each(['v[1]', 'g{a}', 'a\\b', 'q?', 's*'])('of a data folder %s only its own files match a glob', async (name) => {
  const base = testFolder();
  // Names that a pattern of the folder's name would match.
  for (const folder of [name, 'v1', 'ga', 'g', 'a/b', 'qq', 'ss']) {
    mkdirSync(join(base, folder, 'sub'), { recursive: true });
    writeFileSync(join(base, folder, 'part-0'), '');
    writeFileSync(join(base, folder, 'sub/part-1'), '');
  }
  const within = { ...place, folder: join(base, name) };
  expect(await resolveFiles(within, 'part-*')).toEqual(['part-0']);
  expect(await resolveFiles(within, './sub/../**/part-?')).toEqual(['part-0', 'sub/part-1']);
  expect(await resolveFiles({ ...within, folder: join(within.folder, 'sub') }, '../part-*')).toEqual(['../part-0']);
  // What the user wrote is a pattern, unless it exists.
  expect(await resolveFiles({ ...place, folder: base }, `${name}/part-0`)).toEqual([`${name}/part-0`]);
});

test('a pattern may begin at the root, and a bracket of a name is written as a set', async () => {
  const other = { ...place, folder: testFolder() };
  mkdirSync(join(other.folder, 'w[1]'));
  writeFileSync(join(other.folder, 'w[1]/x.txt'), '');
  expect(await resolved(join(place.folder, 'days/b/*'))).toEqual(['days/b/1.txt']);
  expect(await resolveFiles(other, 'w[[]1]/*')).toEqual(['w[1]/x.txt']);
  await expect(resolveFiles(other, 'w[1]/*')).rejects.toMatchObject({ hint: expect.stringContaining('write [[]') });
});

test.each([
  ['hdfs://nn/data/x', 'mount the file, or copy it'],
  ['s3://bucket/part-*', 'mount the file, or copy it'],
  ['https://example.org/a9a.gz', 'mount the file, or copy it'],
  ['file:///data/x', 'by path: /data/x'],
  ['file:/data/x', 'by path: /data/x'],
  ['~/x', 'write the path in full'],
  ['~ann/x-*', 'write the path in full'],
  ['a9a.gz#cache', 'write a9a.gz: '],
])('%s is what other programs take, and paddlet does not', async (what, hint) => {
  await expect(resolved(what)).rejects.toMatchObject({
    code: 'DataMissing',
    message: `${what} is not the path of a data file`,
    hint: expect.stringContaining(hint),
  });
});

test('a file with such a name is a file', async () => {
  const other = { ...place, folder: testFolder() };
  mkdirSync(join(other.folder, '~'));
  for (const name of ['a9a.gz#1', '~/x']) writeFileSync(join(other.folder, name), '');
  expect(await resolveFiles(other, ['a9a.gz#1', '~/x'])).toEqual(['a9a.gz#1', '~/x']);
});

test.each([
  ['a9b.gz', 'no such data file', 'a9a.gz'],
  ['dayz/a', 'no such data file', 'days'],
  ['days/a/3.txt', 'no such data file', '1.txt'],
  ['days/*.csv', 'no file matches', 'days'],
  ['nowhere/*.csv', 'no such data file', 'days'],
  ['empty', 'no data files in folder', undefined],
  [[], 'no data files were named', undefined],
])('%j is missing, and the hint names what is there', async (what, message, hint) => {
  await expect(resolved(what as string)).rejects.toMatchObject({
    code: 'DataMissing',
    message: expect.stringContaining(message),
    ...(hint === undefined ? {} : { hint: expect.stringContaining(hint) }),
  });
});
