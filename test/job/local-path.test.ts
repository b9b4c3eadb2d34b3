/** Folders and job files as other programs name them. */
import { homedir } from 'node:os';
import { expect, test } from 'vitest';
import { localFolder } from '../../src/commands/base/folder-flag.ts';
import { createDisk } from '../../src/host/disk.ts';
import { loadJob, parseJobFile } from '../../src/job/load-job.ts';

const SMALL = 'name: a\ndata: { train: a.svm, format: libsvm }\nmodel: { type: lr }\n';

test.each([
  ['checkpoint: { dir: "s3://bucket/job" }', 'checkpoint.dir', 'copy it to this machine'],
  ['warmStart: { from: hdfs://nn/job }', 'warmStart.from', 'copy it to this machine'],
  ['checkpoint: { dir: ~ann/job }', 'checkpoint.dir', 'write the path in full'],
  ['checkpoint: { dir: file:///mnt/job }', 'checkpoint.dir', 'by path: /mnt/job'],
])('%s names no folder of this machine', (line, field, advice) => {
  const parse = () => parseJobFile('job.yaml', `${SMALL}${line}\n`);
  expect(parse).toThrow(new RegExp(`job.yaml:4.*${field}.*expected a folder of this machine`, 's'));
  expect(parse).toThrow(advice);
});

test.each([
  ['https://example.org/job.yaml', 'mount the file, or copy it'],
  ['~ann/job.yaml', 'write the path in full'],
  ['none.yaml', 'write a job file with `paddlet init'],
])('a job file %s that is missing', async (path, hint) => {
  const loading = loadJob({ path, sets: [], disk: createDisk() });
  await expect(loading).rejects.toMatchObject({ code: 'JobInvalid', hint: expect.stringContaining(hint) });
});

test('~ is the home folder at the beginning of a path field', () => {
  const more = 'checkpoint: { dir: ~/job }\nwarmStart: { from: ~/a/~/b }\n';
  const { data, checkpoint, warmStart } = parseJobFile('job.yaml', `${SMALL}${more}`, [
    'data.train=[~/logs/*.svm, a/~/b*, "~", ~x.svm]',
    'data.test=~/test',
  ]);
  const home = homedir();
  expect(data.train).toEqual([`${home}/logs/*.svm`, 'a/~/b*', home, '~x.svm']);
  expect(data.test).toEqual([`${home}/test`]);
  expect([checkpoint.dir, warmStart?.from]).toEqual([`${home}/job`, `${home}/a/~/b`]);
});

test('a folder that a flag names', async () => {
  expect(await localFolder('s3/~/data')).toBe('s3/~/data');
  expect(await localFolder('~/data')).toBe(`${homedir()}/data`);
  await expect(localFolder('s3://bucket')).rejects.toMatchObject({
    code: 'Usage',
    hint: expect.stringContaining('copy'),
  });
});
