/** Training records that all have the same label are refused before anything is started; equal numbers match. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'paddlet-one-label-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const ROWS = ['no', 'Yes', 'no'].map((label, user) => ({ label, user: `u${user}` }));
const csvOf = (rows: readonly { readonly label: string; readonly user: string }[]): string =>
  ['label,user', ...rows.map(({ label, user }) => `${label},${user}`), ''].join('\n');

function writeJob(data: object, rest: object = {}): void {
  const job = { name: 'one', data, model: { type: 'lr' }, cluster: { pservers: 1 }, ...rest };
  writeFileSync(join(cwd, 'job.yaml'), JSON.stringify(job));
}

const columnsOf = (label: object) => ({ label: { type: 'label', ...label }, user: 'category' });

/** The check of doctor, and what `run` would do. */
async function judged() {
  const doctor = await runCommand(['doctor', 'job.yaml', '--json'], { cwd });
  const run = await runCommand(['run', 'job.yaml', '--dry-run', '--json'], { cwd });
  const data = JSON.parse(doctor.out).checks.find(({ name }: { name: string }) => name === 'data');
  return { data, codes: [doctor.code, run.code], error: JSON.parse(run.out).error, warnings: run.err };
}

const TEXTS = 'the first records have these values in column label: "no" (2), "Yes" (1)';

test.each([
  ['positive that no text is', { positive: ['yes'] }, `all 3 training records have label 0; ${TEXTS}`],
  ['positive that every text is', { positive: ['no', 'Yes'] }, `all 3 training records have label 1; ${TEXTS}`],
])('%s, in each format', async (_, label, message) => {
  writeFileSync(join(cwd, 'a.csv'), csvOf(ROWS));
  writeFileSync(join(cwd, 'a.jsonl'), ROWS.map((row) => JSON.stringify(row)).join('\n'));
  const column = (name: 'label' | 'user') => ({ name, data: ROWS.map((row) => row[name]) });
  writeFileSync(
    join(cwd, 'a.parquet'),
    Buffer.from(parquetWriteBuffer({ columnData: [column('label'), column('user')] })),
  );
  for (const format of ['csv', 'jsonl', 'parquet']) {
    writeJob({ format, train: `a.${format}`, columns: columnsOf(label) });
    const { data, codes, error } = await judged();
    expect({ format, codes }).toEqual({ format, codes: [3, 3] });
    expect(data).toMatchObject({ status: 'fail', detail: message });
    expect(error).toMatchObject({ code: 'DataInvalid', message });
    expect(error.hint).toContain('data.columns.label.positive');
  }
});

test('classes and labels that are numbers', async () => {
  writeFileSync(join(cwd, 'a.csv'), 'label,user\n2,5\n2,6\n');
  const numbers = { label: 'label', user: 'number' };
  const classes = { ...numbers, label: { type: 'label', classes: ['1', '2.0', '3'] } };
  writeFileSync(join(cwd, 'a.libsvm'), '-1 1:1\n0 1:1\n-1 2:1\n');
  for (const [data, model, message] of [
    [{ format: 'csv', train: 'a.csv', columns: numbers }, 'softmax', 'all 2 training records have label 2'],
    [
      { format: 'csv', train: 'a.csv', columns: classes },
      'softmax',
      'have label 1; the first records have these values in column label: "2" (2)',
    ],
    [{ format: 'libsvm', train: 'a.libsvm' }, 'fm', 'all 3 training records have label 0'],
  ] as const) {
    writeJob(data, { model: { type: model, ...(model === 'fm' ? { factors: 2 } : {}) } });
    const { codes, error } = await judged();
    expect({ codes, message: error.message }).toEqual({ codes: [3, 3], message: expect.stringContaining(message) });
  }
});

test('only a warning: test records, numbers to predict, and what the job says of all records', async () => {
  writeFileSync(join(cwd, 'a.libsvm'), '1 1:1\n0 2:1\n');
  writeFileSync(join(cwd, 'b.libsvm'), '1 1:1\n1 2:1\n');
  writeFileSync(join(cwd, 'a.tsv'), 'a\tb\nc\td\n');
  const lr = { type: 'lr' };
  for (const [data, model, message] of [
    [{ format: 'libsvm', train: 'a.libsvm', test: 'b.libsvm' }, lr, 'all 2 test records have label 1'],
    [{ format: 'libsvm', train: 'b.libsvm' }, { ...lr, task: 'regression' }, 'all 2 training records have label 1'],
    [{ format: 'interactions', train: 'a.tsv' }, lr, 'all records have label 1'],
  ] as const) {
    writeJob(data, { model });
    const { data: check, codes } = await judged();
    expect({ codes, ...check }).toMatchObject({
      codes: [0, 0],
      status: 'warn',
      detail: expect.stringContaining(message),
    });
  }
});

test('texts that are equal numbers match', async () => {
  const csv = 'label;user\n4,0;a\n5,00;b\n3,5;c\n04;d\n6;e\nx;f\n+4,000;g\n40e-1;h\n';
  writeFileSync(join(cwd, 'a.csv'), csv);
  const json =
    '{"label":4.0,"user":"a"}\n{"label":"4.00","user":"b"}\n{"label":4.5,"user":"c"}\n{"label":40,"user":"d"}\n';
  writeFileSync(join(cwd, 'a.jsonl'), json);
  const label = { positive: ['4.0', '5'] };
  const comma = { delimiter: ';', decimal: ',' };
  writeJob({ format: 'csv', train: 'a.csv', csv: comma, columns: columnsOf({ positive: ['4', '5'] }) });
  const looked = async (file: string) => {
    const { out } = await runCommand(['data', 'inspect', file, '--job', 'job.yaml', '--json'], { cwd });
    return JSON.parse(out).labels;
  };
  expect(await looked('a.csv')).toEqual([
    { label: 1, count: 5 },
    { label: 0, count: 3 },
  ]);
  writeJob({ format: 'jsonl', train: 'a.jsonl', columns: columnsOf(label) });
  expect(await looked('a.jsonl')).toEqual([
    { label: 0, count: 2 },
    { label: 1, count: 2 },
  ]);
});
