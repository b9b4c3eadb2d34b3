import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../data/place.ts';
import { runCommand } from '../run-command.ts';

function place(format = 'csv'): string {
  const cwd = testFolder();
  mkdirSync(join(cwd, 'day=2024-01-01'));
  writeFileSync(join(cwd, 'day=2024-01-01', 'log.csv'), 'x,y\n1,1\nbad,0\n3,0\n');
  writeFileSync(join(cwd, 'log.csv'), 'x,y\n1,1\n');
  const columns = 'columns: { x: number, y: label, day: { type: category, from: folder } }';
  const data = `data: { format: ${format}, train: log.csv, ${format === 'libsvm' ? '' : columns} }`;
  writeFileSync(join(cwd, 'job.yaml'), `name: a\nmodel: { type: lr }\n${data}\n`);
  return cwd;
}

const CONVERT = ['data', 'convert', 'day=2024-01-01', '--job', 'job.yaml', '--output', 'made'];

test('writes a file for each, in the folders that they were in, and never over another one unasked', async () => {
  const cwd = place();
  const to = join(cwd, 'made/day=2024-01-01/log.columns');
  const ran = await runCommand([...CONVERT, '--json'], { cwd });
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({ files: [{ from: 'day=2024-01-01/log.csv', to, records: 3, bad: 1 }] });
  expect(existsSync(to)).toBe(true);
  const again = await runCommand(CONVERT, { cwd });
  expect([again.code, again.err]).toEqual([
    2,
    expect.stringContaining(`${to} exists\nhint: replace it with --replace`),
  ]);
  const forced = await runCommand([...CONVERT, '--replace'], { cwd });
  expect([forced.code, forced.out]).toEqual([0, expect.stringMatching(/log\.columns +3 +1 +\d+/)]);
});

test('a source that fails leaves nothing', async () => {
  const cwd = place();
  const ran = await runCommand(['data', 'convert', 'log.csv', '--job', 'job.yaml', '--output', 'made'], { cwd });
  expect([ran.code, ran.err]).toEqual([3, expect.stringContaining('no folder in log.csv is named day=')]);
  expect(readdirSync(join(cwd, 'made'))).toEqual([]);
});

test('two sources of one name, and a job without columns, are refused', async () => {
  const cwd = place();
  const others = [place(), place()].map((folder) => join(folder, 'log.csv'));
  const both = await runCommand([...CONVERT, ...others], { cwd });
  expect([both.code, both.err]).toEqual([
    2,
    expect.stringMatching(/log\.csv and .*log\.csv would both be .*log\.columns/),
  ]);
  const other = await runCommand(CONVERT, { cwd: place('libsvm') });
  expect([other.code, other.err]).toEqual([
    2,
    expect.stringContaining('data.format libsvm, expected csv, tsv, interactions, jsonl or parquet'),
  ]);
});
