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
  expect(out).toContain('paid: ignore # numbers with commas between thousands: write 1234 for 1,234');
});
