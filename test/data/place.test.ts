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
