/** A header within a file, and labels that are mistakes: bad records, and no classes. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { cwd, file, paddlet, printed, repeat, useFolder } from './printed.ts';

beforeAll(useFolder);

const rows = (count: number, label = (at: number) => String(Number(at % 3 === 0))): string[] =>
  repeat(count, (at) => `${at % 20},${['Oslo', 'Rome', 'Bern'][at % 3]},${label(at)}`);

test('a header between two joined files', async () => {
  file('joined.csv', ['age,town,clicked', ...rows(150), 'age,town,clicked', ...rows(150)]);
  const { job, text } = await printed('--data', 'joined.csv');
  expect(job.model).toMatchObject({ type: 'lr', task: 'binary' });
  expect(text).toContain('maxBadRecords: 20000 # 1 bad record: line 152: the header of the file again\n');
  const { out } = await paddlet('data', 'inspect', 'joined.csv');
  expect(out).toContain('1 bad record: line 152: the header of the file again.');
});

test.each([
  ['a text among numbers', (at: number) => (at === 70 ? 'clicked' : String(Number(at % 4 === 0))), ['0', '1']],
  ['a misspelled one', (at: number) => (at === 70 ? 'yse' : at % 4 === 0 ? 'yes' : 'no'), ['yes', 'no']],
])('one odd label in hundreds: %s', async (_, label, known) => {
  file('odd.csv', ['age,town,clicked', ...rows(300, label)]);
  const { job, text } = await printed('--data', 'odd.csv');
  expect(job.model).toMatchObject({ type: 'lr', task: 'binary' });
  expect(text).toContain(`# clicked is "${label(70)}" in 1 record\n`);
  const { out } = await paddlet('data', 'inspect', 'odd.csv');
  expect(out).toContain(`clicked is "${label(70)}" in 1 record: too rare for a class, so bad.`);
  for (const text of known) expect(out).toContain(`${text} `);
});

test('rare classes that come several times, or beside many others, stay classes', async () => {
  file('rare.csv', ['age,town,kind', ...rows(300, (at) => (at < 2 ? 'c' : at % 2 === 0 ? 'a' : 'b'))]);
  file('many.csv', ['age,town,kind', ...rows(300, (at) => (at === 0 ? 'd' : ['a', 'b', 'c'][at % 3]!))]);
  for (const [name, classes] of [
    ['rare.csv', ['a', 'b', 'c']],
    ['many.csv', ['a', 'b', 'c', 'd']],
  ] as const) {
    const { job } = await printed('--data', name, '--label', 'kind');
    expect(job.data.columns?.find(({ type }) => type === 'label')).toMatchObject({ classes });
  }
});

test('a job whose columns take any text', async () => {
  mkdirSync(join(cwd, 'texts'), { recursive: true });
  // The second record has the name of the label for a label, and is no header.
  file('texts/a.csv', ['spam,town', 'ham,Oslo', 'spam,Rome', 'spam,town', 'ham,Bern']);
  file('texts.yaml', [
    'name: texts',
    'data: { format: csv, train: texts/a.csv, columns: { spam: { type: label, positive: [ham] }, town: category } }',
    'model: { type: lr }',
  ]);
  const { code, err } = await paddlet('run', 'texts.yaml', '--dry-run');
  expect(code).toBe(3);
  expect(err).toContain('texts/a.csv:4: the header of the file again, in "spam,town"');
  const { out } = await paddlet('data', 'inspect', 'texts/a.csv', '--job', 'texts.yaml', '--json');
  expect(JSON.parse(out)).toMatchObject({ records: 3, bad: { records: 1 }, labels: [{ label: 1 }, { label: 0 }] });
});
