/** What can be done and is hardly meant is named. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'paddlet-unintended-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const file = (name: string, lines: readonly string[]): void => writeFileSync(join(cwd, name), `${lines.join('\n')}\n`);
const rows = (of: (at: number) => string): string[] => Array.from({ length: 120 }, (_, at) => of(at));

test('the same file for training and test', async () => {
  file('a.csv', ['age,label', ...rows((at) => `${at % 30},${at % 2}`)]);
  file('job.yaml', [
    'name: j',
    'data: { format: csv, train: a.csv, test: [a.csv], columns: { age: number, label: label } }',
    'model: { type: lr }',
  ]);
  const { out } = await runCommand(['doctor', 'job.yaml', '--json'], { cwd });
  const data = JSON.parse(out).checks.find(({ name }: { name: string }) => name === 'data');
  expect(data).toMatchObject({ status: 'warn', hint: expect.stringContaining('data.split') });
  expect(data.detail).toContain('a.csv is both a training and a test file');
});

test('spellings of a label, and commas between thousands', async () => {
  const labels = ['True', 'TRUE', 'true', 'False', 'FALSE', 'false'];
  file('truth.csv', ['age,paid,label', ...rows((at) => `${at % 30},"${1 + (at % 7)},${100 + at}",${labels[at % 6]}`)]);
  const { out } = await runCommand(['init', '--data', 'truth.csv', '--output', '-'], { cwd });
  expect(out).toContain('model: { type: lr }');
  const positive = /positive: \[(.*?)\]/.exec(out)?.[1];
  expect(positive?.split(', ').sort()).toEqual(['"TRUE"', '"True"', '"true"']);
  expect(out).toContain('paid: ignore # numbers such as "1,100", with commas between thousands: write 1234 for 1,234');
});

test('a NUL byte makes its line a bad record, not the file a binary one', async () => {
  const lines = ['age,kind,label', ...rows((at) => `${at % 30},${at % 50 === 20 ? 'a\0' : 'ab'[at % 2]},${at % 2}`)];
  file('nul.csv', lines);
  file('first.csv', lines.toSpliced(1, 0, '1,a\0,0'));
  file('header.csv', lines.with(0, 'age,ki\0nd,label'));
  file(
    'nul.jsonl',
    rows((at) => `{"age":${at % 30},"kind":"a${at === 0 ? '\0' : ''}","label":${at % 2}}`),
  );
  const run = async (...words: string[]) => runCommand(words, { cwd });
  const look = async (name: string) => (await run('data', 'inspect', name)).out;
  expect(await look('nul.csv')).toMatch(/\n2 bad records.*line 22: a NUL byte/);
  expect(await look('first.csv')).toMatch(/\n3 bad records.*line 2: a NUL byte/);
  expect(await look('nul.jsonl')).toMatch(/\n1 bad record: line 1: a NUL byte/);
  expect((await run('init', '--data', 'first.csv', '--output', '-')).out).toMatch(
    /maxBadRecords: .*line 2: a NUL byte/,
  );
  const job = (train: string) => [
    `{ name: j, model: { type: lr }, data: { format: csv, train: ${train}, test: [${train}],`,
    'columns: { age: number, kind: category, label: label } } }',
  ];
  for (const name of ['first.csv', 'header.csv']) file(`${name}.yaml`, job(name));
  const { out: checked } = await run('doctor', 'first.csv.yaml');
  expect(checked).toContain('first.csv:2: a NUL byte, which no text has, at character 4');
  expect(checked).toMatch(/seems to be text with NUL bytes\n.*hint: remove the NUL bytes: tr -d/);
  const refused = 'header.csv:1:7: expected the header, found a NUL byte';
  for (const words of [
    ['data', 'inspect', 'header.csv'],
    ['doctor', 'header.csv.yaml'],
    ['run', 'header.csv.yaml'],
  ]) {
    const { code, out, err } = await run(...words);
    expect(code).not.toBe(0);
    expect(out + err).toContain(refused);
    expect(out + err).toContain("hint: remove the NUL bytes: tr -d '\\000' < OLD > NEW");
  }
});

test('init names columns of numbers that it cannot read as they are written', async () => {
  const line = (at: number): string =>
    `${at % 30},"${at},${at % 10}",${at} ${100 + at},${1 + (at % 7)}.${100 + at},${at % 2}`;
  file('written.csv', [
    'age,comma,blank,point,label',
    ...rows(line).map((text, at) => (at === 0 ? text.replaceAll('0 100', '1 100') : text)),
  ]);
  const { code, out } = await runCommand(['init', '--data', 'written.csv', '--output', 'written.yaml'], { cwd });
  expect(code).toBe(0);
  expect(out).toContain('\ncolumn comma is ignored: numbers such as "0,0", with decimal commas: write 1.5 for 1,5\n');
  expect(out).toContain(
    '\ncolumn blank is ignored: numbers such as "1 100", with blanks between thousands: write 1234 for 1 234\n',
  );
  // A number with three decimals.
  expect(out).not.toContain('column point');
});
