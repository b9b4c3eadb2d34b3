/** Files for predict that differ from those of the job: absent columns, another delimiter. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { carriedRecord } from '../../../src/cluster/job/carried-record.ts';
import { trainedSpecOf } from '../../../src/cluster/job/job-model.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createStorage } from '../../../src/host/storage.ts';
import { saveCluster } from '../../checkpoint/cluster-fixture.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { runCommand } from '../run-command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'paddlet-absent-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const COLUMNS = { y: 'label', ad: { type: 'category', path: 'u.ad' }, town: 'category', tags: 'categories' } as const;
const write = (file: string, records: readonly object[]): void =>
  writeFileSync(join(cwd, file), records.map((record) => `${JSON.stringify(record)}\n`).join(''));

/** Every training record had an ad. */
beforeAll(async () => {
  const job = aJob({ data: { format: 'jsonl', columns: COLUMNS } });
  const record = recordOf(job, { train: { columns: { fields: 4, statistics: [], complete: ['ad'] } } });
  const saved = { jobId: record.id, parameters: trainedSpecOf(record), seed: job.training.seed, shards: 8 };
  const meta = { job: carriedRecord(record) };
  await saveCluster({
    storage: createStorage(createDisk()),
    pservers: 1,
    folder: join(cwd, 'model'),
    job: saved,
    ids: [1n],
    meta,
  });
  write('all.jsonl', [{ u: { ad: 1 }, town: 'a', tags: ['x'] }, { town: 'b' }]);
  write('renamed.jsonl', [
    { u: { ad: 1 }, Town: 'a', y: 1 },
    { u: {}, Town: 'b', y: 0 },
  ]);
  write('nested.jsonl', [
    { u: { adId: 1 }, town: 'a', tags: ['x'], y: 1 },
    { town: 'b', tags: 'z', y: 0 },
  ]);
});

const predict = (file: string, ...more: string[]) =>
  runCommand(['predict', './model', '--data', file, '--json', ...more], { cwd });

test('predict names columns that may be missing, and counts unknown features by column', async () => {
  for (const threads of ['1', '2']) {
    const all = await predict('all.jsonl', '--strict', '--threads', threads);
    expect(all.code).toBe(0);
    expect(JSON.parse(all.err)).toMatchObject({ absentColumns: [], unknownFeatures: 5, features: 5 });
    const counts = [
      { column: 'ad', features: 2 },
      { column: 'town', features: 2 },
      { column: 'tags', features: 1 },
    ];
    expect(JSON.parse(all.err).unknownByColumn).toEqual(counts);
  }
  const told = await predict('renamed.jsonl');
  expect([told.code, JSON.parse(told.err).absentColumns]).toEqual([0, ['town', 'tags']]);
  const strict = await runCommand(['predict', './model', '--data', 'renamed.jsonl', '--strict'], { cwd });
  expect([strict.code, strict.err]).toEqual([
    3,
    expect.stringContaining('no record has a value for columns town, tags'),
  ]);
});

test('predict and evaluate refuse a column that no training record lacked', async () => {
  const message = 'no record of nested.jsonl has a value for column ad, but every training record has one';
  const toFile = await predict('nested.jsonl', '--output', 'scores.csv');
  expect([toFile.code, JSON.parse(toFile.out).error]).toEqual([3, expect.objectContaining({ message })]);
  const toPipe = await runCommand(['predict', './model', '--data', 'nested.jsonl'], { cwd });
  expect([toPipe.code, toPipe.out.split('\n').length, toPipe.err]).toEqual([
    3,
    4,
    expect.stringContaining(`${message}; 2 scores were written before that was known`),
  ]);
  const evaluated = await runCommand(['evaluate', 'model', '--data-dir', '.', '--data', 'nested.jsonl', '--json'], {
    cwd,
  });
  expect([evaluated.code, JSON.parse(evaluated.out).error]).toEqual([3, expect.objectContaining({ message })]);
  const other = await runCommand(['evaluate', 'model', '--data-dir', '.', '--data', 'renamed.jsonl'], {
    cwd,
  });
  expect([other.code, other.err]).toEqual([0, expect.stringContaining('no record has a value for columns town, tags')]);
});

test('doctor and run look at training and test files', async () => {
  const judged = async (data: object) => {
    const job = { name: 'absent', data: { format: 'jsonl', columns: COLUMNS, ...data }, model: { type: 'lr' } };
    writeFileSync(join(cwd, 'job.json'), JSON.stringify(job));
    const doctor = await runCommand(['doctor', 'job.json', '--json'], { cwd });
    const run = await runCommand(['run', 'job.json', '--dry-run', '--json'], { cwd });
    const { detail } = JSON.parse(doctor.out).checks.find(({ name }: { name: string }) => name === 'data');
    return { codes: [doctor.code, run.code], detail, message: JSON.parse(run.out).error?.message };
  };
  const untrained = 'no record of the training files has a value for column ad';
  expect(await judged({ train: 'nested.jsonl' })).toEqual({ codes: [3, 3], detail: untrained, message: untrained });
  write('train.jsonl', [
    { u: { ad: 1 }, town: 'a', tags: ['x'], y: 1 },
    { u: { ad: 2 }, town: 'b', y: 0 },
  ]);
  const untested = 'no record of the test files has a value for column ad, but every training record has one';
  const tested = await judged({ train: 'train.jsonl', test: 'nested.jsonl' });
  expect(tested).toEqual({ codes: [3, 3], detail: untested, message: untested });
  const later = await judged({ train: ['nested.jsonl', 'train.jsonl'] });
  expect(later.codes).toEqual([0, 0]);
  expect(later.detail).toContain('no record of nested.jsonl has a value for column ad, but other files do');
});

test('predict takes csv with another delimiter', async () => {
  const lines = ['ad,town,tags', '1,a,x', '2,b,'];
  writeFileSync(join(cwd, 'comma.csv'), lines.join('\n'));
  writeFileSync(join(cwd, 'semicolon.csv'), lines.join('\n').replaceAll(',', ';'));
  const semicolon = (...more: string[]) => predict('semicolon.csv', '--format', 'csv', ...more);
  const wanted = await predict('comma.csv', '--format', 'csv');
  expect(wanted.code).toBe(0);
  const given = await semicolon('--delimiter', ';');
  expect([given.code, given.out]).toEqual([0, wanted.out]);
  const refused = await semicolon();
  expect(JSON.parse(refused.out).error.hint).toContain('for predict, pass --delimiter');
  for (const [words, message] of [
    [
      ['--format', 'csv', '--delimiter', '5'],
      '--delimiter "5": expected one ASCII character that is neither a letter nor a digit',
    ],
    [
      ['--format', 'csv', '--delimiter', '.'],
      '--delimiter ".": "." may be part of a number: expected another character',
    ],
    [['--format', 'jsonl', '--delimiter', ';'], '--delimiter is for csv files, and the input is jsonl'],
  ] as const) {
    const { code, out } = await predict('semicolon.csv', ...words);
    expect([code, JSON.parse(out).error.message]).toEqual([2, message]);
  }
});
