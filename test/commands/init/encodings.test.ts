/** Text in other bytes than a job file can name, and lines that end in CR alone. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { cwd, file, paddlet, repeat, useFolder } from './printed.ts';

beforeAll(useFolder);

const ICONV = 'hint: save it as UTF-8: iconv -f LATIN1 -t UTF-8 OLD > NEW';
const NOT_UTF8 = 'text that is not UTF-8, Latin-1 for example';
const rows = repeat(60, (at) => `${at % 20},${at % 3 === 0 ? 'sí' : 'no'},${at % 2}`);

const latin = (name: string, lines: readonly string[]): void =>
  writeFileSync(join(cwd, name), Buffer.from(`${lines.join('\n')}\n`, 'latin1'));
const job = (columns: object, train: string): void =>
  file('job.yaml', [
    JSON.stringify({ name: 'j', data: { format: 'csv', train, columns, maxBadRecords: 10 }, model: { type: 'lr' } }),
  ]);

test('Latin-1 in labels', async () => {
  latin('votes.csv', ['age,vote,x', ...rows]);
  const init = await paddlet('init', '--data', 'votes.csv', '--label', 'vote', '--output', '-');
  expect([init.code, init.err]).toEqual([3, `error DataInvalid: votes.csv is ${NOT_UTF8}\n${ICONV}\n`]);
  expect((await paddlet('data', 'inspect', 'votes.csv')).out).toContain(`It is ${NOT_UTF8}: `);
  job({ vote: { type: 'label', positive: ['sí'], negative: ['no'] }, age: 'number' }, 'votes.csv');
  const run = await paddlet('run', 'job.yaml', '--dry-run');
  expect([run.code, run.err]).toEqual([3, expect.stringContaining(ICONV)]);
});

test('Latin-1 in names of columns', async () => {
  latin('names.csv', ['año,label,x', ...rows.map((row) => row.replace('sí', '1').replace('no', '0'))]);
  const init = await paddlet('init', '--data', 'names.csv', '--output', '-');
  expect([init.code, init.err]).toEqual([3, expect.stringContaining(ICONV)]);
  job({ label: 'label', año: 'number' }, 'names.csv');
  const run = await paddlet('run', 'job.yaml', '--dry-run');
  expect([run.code, run.err]).toEqual([3, expect.stringContaining(ICONV.slice('hint: '.length))]);
});

test('lines that end in CR alone', async () => {
  const label = { type: 'label', positive: ['sí'] };
  writeFileSync(join(cwd, 'cr.csv'), ['age,vote,x', ...rows, ''].join('\r'));
  writeFileSync(join(cwd, 'cr.libsvm'), ['1 1:1', '0 2:1', '1 3:1', ''].join('\r'));
  job({ vote: label, age: 'number' }, 'cr.csv');
  file('libsvm.yaml', ['{ name: l, data: { format: libsvm, train: cr.libsvm }, model: { type: lr } }']);
  for (const args of [
    ['init', '--data', 'cr.csv', '--output', '-'],
    ['data', 'inspect', 'cr.csv'],
    ['run', 'job.yaml', '--dry-run'],
    ['run', 'libsvm.yaml', '--dry-run'],
  ]) {
    const { code, err } = await paddlet(...args);
    expect([code, err]).toEqual([3, expect.stringContaining('text whose lines end in CR alone')]);
    expect(err).toContain("hint: write line ends as LF: tr '\\r' '\\n' < OLD > NEW\n");
  }
});
