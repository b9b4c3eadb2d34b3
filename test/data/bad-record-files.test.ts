/** The files that list bad records: what is in them, who writes them, and what happens when they cannot be written. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import type { Disk } from '../../src/base/seams.ts';
import type { BadRecord } from '../../src/data/bad-record.ts';
import { BAD_RECORD_FILE, BadRecordFiles, badRecordFolder } from '../../src/data/bad-record-files.ts';
import { createDisk } from '../../src/host/disk.ts';
import { testFolder, testPlace } from './place.ts';

const ID = '0123abcd-0000-4000-8000-000000000000';
const TAG = '0123abcd';

const badOnes = (count: number): BadRecord[] =>
  Array.from({ length: count }, (_, at) => ({ file: 'a.txt', line: at + 1, byteOffset: 8 * at, reason: `odd ${at}` }));

function opened(options: { folder?: string; id?: string; disk?: Partial<Disk> } = {}) {
  const { host, warnings } = testPlace(options.disk === undefined ? {} : { disk: options.disk });
  const folder = options.folder ?? testFolder();
  const files = new BadRecordFiles(host, folder, options.id ?? ID);
  const listed = badRecordFolder(folder);
  const linesOf = (name: string): unknown[] =>
    readFileSync(join(listed, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { folder, files, listed, warnings, linesOf, names: () => readdirSync(listed).sort() };
}

test('a line for each record: where it is, what is wrong, and its text', async () => {
  const { files, linesOf, names, listed, folder } = opened();
  const text = Buffer.from('1 café:2').toString('latin1');
  await files.list({
    set: 'train',
    task: 12,
    bad: [{ file: 'd/a.txt', line: 3, byteOffset: 17, reason: 'odd', text }],
  });
  await files.list({ set: 'test', task: 0, bad: badOnes(2) });
  await files.list({ set: 'train', task: 13, bad: [] });
  expect(listed).toBe(join(folder, 'bad-records'));
  expect(names()).toEqual([`test-0-${TAG}.jsonl`, `train-12-${TAG}.jsonl`]);
  expect(linesOf(`train-12-${TAG}.jsonl`)).toEqual([
    { file: 'd/a.txt', line: 3, byteOffset: 17, reason: 'odd', text: '1 café:2', set: 'train' },
  ]);
  expect(linesOf(`test-0-${TAG}.jsonl`)).toEqual([
    { file: 'a.txt', line: 1, byteOffset: 0, reason: 'odd 0', set: 'test' },
    { file: 'a.txt', line: 2, byteOffset: 8, reason: 'odd 1', set: 'test' },
  ]);
  for (const name of names()) expect(name).toMatch(BAD_RECORD_FILE);
});

test('of more records than a file lists, its last line says how many', async () => {
  const { files, linesOf } = opened();
  await files.list({ set: 'evaluate', task: 1, bad: badOnes(LIMITS.listedBadRecords + 7) });
  const lines = linesOf(`evaluate-1-${TAG}.jsonl`);
  expect(lines).toHaveLength(LIMITS.listedBadRecords + 1);
  expect(lines.at(-2)).toMatchObject({ line: LIMITS.listedBadRecords });
  expect(lines.at(-1)).toEqual({ more: 7, set: 'evaluate' });
});

test('a task is listed once, whichever processes read it, and how often', async () => {
  const { folder, files, listed, warnings, names } = opened();
  const other = opened({ folder });
  const anotherJob = opened({ folder, id: 'ffffffff-0000-4000-8000-000000000000' });
  const found = { set: 'train', task: 5, bad: badOnes(1) } as const;
  for (const one of [files, other.files, files, anotherJob.files]) await one.list(found);
  expect(names()).toEqual([`train-5-${TAG}.jsonl`, 'train-5-ffffffff.jsonl']);
  const shown = 'bad record: a.txt:1: odd 0';
  expect(warnings).toEqual([shown, `bad records are listed in ${listed}`]);
  expect(other.warnings).toEqual([shown]);
});

test('the log has the first records of a process', async () => {
  const { files, warnings, names } = opened();
  for (const task of [0, 1, 2]) await files.list({ set: 'train', task, bad: badOnes(LIMITS.loggedBadRecords - 1) });
  expect(warnings.filter((line) => line.startsWith('bad record: '))).toHaveLength(LIMITS.loggedBadRecords);
  expect(names()).toHaveLength(3);
});

test('a folder that is full takes no more files', async () => {
  const { files, listed, warnings, names } = opened();
  await files.list({ set: 'train', task: 0, bad: badOnes(1) });
  for (let task = 1; task < LIMITS.badRecordFiles; task++)
    writeFileSync(join(listed, `train-${task}-${TAG}.jsonl`), '');
  for (const task of [2_000_000, 2_000_001]) await files.list({ set: 'train', task, bad: badOnes(1) });
  expect(names()).toHaveLength(LIMITS.badRecordFiles);
  expect(warnings.filter((line) => line.includes('does not list bad records of more tasks'))).toHaveLength(1);
});

test('a full disk: one warning, no file that is cut off, and no failure', async () => {
  const real = createDisk();
  const create: Disk['create'] = async (path) => ({
    ...(await real.create(path)),
    write: () => Promise.reject(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })),
  });
  const { files, warnings, names } = opened({ disk: { create } });
  for (const task of [0, 1]) await files.list({ set: 'train', task, bad: badOnes(1) });
  expect(names()).toEqual([]);
  expect(warnings.filter((line) => line.startsWith('paddlet stops listing'))).toEqual([
    'paddlet stops listing bad records: ENOSPC: no space left on device, write',
  ]);
});
