/** Jobs of `paddlet init` for JSON lines and Parquet: as for the same rows of CSV, but for place and format. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { beforeAll, expect, test } from 'vitest';
import { lookAsJob } from '../../../src/data/inspection/job-columns.ts';
import { columnSpecOf, type RequestedJob } from '../../../src/job/schema.ts';
import { widestRule } from '../../../src/roles/master/dataset.ts';
import { chunkOf } from '../../data/bytes/packings/recordio/recordio.ts';
import { testPlace } from '../../data/place.ts';
import { cwd, file, paddlet, printed, repeat, types, useFolder } from './printed.ts';

beforeAll(useFolder);

/** Good and bad records of a file, read by a job. */
async function read(job: RequestedJob, path: string): Promise<number[]> {
  const how = { format: job.data.format, spec: columnSpecOf(job)!, labels: widestRule(job) };
  const { records, bad } = await lookAsJob(testPlace({ folder: cwd }), path, how, {});
  return [records, bad.records];
}

const clickAt = (at: number) => ({
  user_id: 7 * at + 3,
  age: at % 7 === 0 ? null : 20 + (at % 50),
  income: at === 9 ? 99999 : (at % 30) / 4,
  town: at % 10 === 0 ? 'NA' : ['Oslo', 'Rome'][at % 2]!,
  paid: at % 4 === 0 ? 'p' : 'o',
  tags: [['a', 'b'], ['b'], ['a', 'b', 'c'], ['c', 'b'], ['a', 'c']][at % 5]!,
  when: `2024-03-${String(1 + (at % 28)).padStart(2, '0')}`,
  clicked: at % 4 === 0 ? 'yes' : 'no',
});
type Row = ReturnType<typeof clickAt>;
const rows = Array.from({ length: 600 }, (_, at) => clickAt(at));

function writeRows(): void {
  const names = Object.keys(rows[0]!);
  const csv = rows.map((row) => Object.values({ ...row, tags: row.tags.join('|') }).join(','));
  file('rows.csv', [names.join(','), ...csv]);
  file(
    'rows.jsonl',
    rows.map((row) => JSON.stringify(row)),
  );
  const optional = { repetition_type: 'OPTIONAL' } as const;
  const text = { ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
  const schema: Parameters<typeof parquetWriteBuffer>[0]['schema'] = [
    { name: 'root', num_children: 8 },
    { name: 'user_id', ...optional, type: 'INT32' },
    { name: 'age', ...optional, type: 'INT32' },
    { name: 'income', ...optional, type: 'DOUBLE' },
    { name: 'town', ...text },
    { name: 'paid', ...text },
    { name: 'tags', ...optional, converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', ...text },
    { name: 'when', ...optional, type: 'INT32', converted_type: 'DATE' },
    { name: 'clicked', ...text },
  ];
  const columnData = names.map((name) => ({
    name,
    data: rows.map((row) => (name === 'when' ? new Date(row.when) : row[name as keyof Row])),
  }));
  writeFileSync(join(cwd, 'rows.parquet'), Buffer.from(parquetWriteBuffer({ schema, columnData })));
}

test('are the same as of CSV, and read all records', async () => {
  writeRows();
  const csv = await printed('--data', 'rows.csv');
  expect(types(csv.job)).toMatchObject({ income: 'number', tags: 'categories', when: 'time', paid: 'ignore' });
  const read600 = [600, 0];
  expect(await read(csv.job, 'rows.csv')).toEqual(read600);
  for (const format of ['jsonl', 'parquet'] as const) {
    const { job, text } = await printed('--data', `rows.${format}`);
    const { columns, dialect, split, ...data } = job.data;
    expect(data).toMatchObject({ format, train: [`rows.${format}`], maxBadRecords: 0 });
    expect(split).toEqual(csv.job.data.split);
    expect(columns).toEqual(csv.job.data.columns?.filter(({ type }) => type !== 'ignore'));
    expect(dialect?.missing).toEqual(['', 'NA']);
    expect({ name: job.name, model: job.model }).toEqual({ name: 'rows', model: csv.job.model });
    expect(text).toContain('\n  missing: ["", "NA"] # texts that stand');
    expect(text).toContain('\n    # user_id is left out: each record has its own number, as ids have; 600 different\n');
    expect(await read(job, `rows.${format}`)).toEqual(read600);
  }
});

test('name nested keys by their paths, and take truth values as they are', async () => {
  file(
    'nested.jsonl',
    repeat(200, (at) =>
      JSON.stringify({
        event: { clicked: at % 4 === 0, ids: [{ x: 1 }] },
        user: { age: 20.5 + at, 'a.b': 1 },
        flag: at % 3 === 0,
        kind: at % 5 === 0 ? { x: 1 } : 'text',
      }),
    ),
  );
  const { job, text } = await printed('--data', 'nested.jsonl', '--test', 'nested.jsonl');
  expect(job.data).toMatchObject({ format: 'jsonl', test: ['nested.jsonl'] });
  expect(job.data.split).toBeUndefined();
  expect(job.data.columns).toMatchObject([
    { name: 'event.clicked', type: 'label', path: 'event.clicked' },
    { name: 'user.age', type: 'number', path: 'user.age' },
    { name: 'flag', type: 'category' },
  ]);
  expect(job.data.columns?.[0]).not.toHaveProperty('positive');
  expect(text).toContain('    # event.ids is left out: its arrays have arrays or objects\n');
  expect(text).toContain('    # user.a.b is left out: no path has a key with a dot\n');
  expect(text).toContain('    # kind is left out: only some of its values are objects\n');
  expect(await read(job, 'nested.jsonl')).toEqual([200, 0]);
  // Models of numbers take them as 1 and 0.
  const dense = await printed('--data', 'nested.jsonl', '--model', 'mlp');
  expect(types(dense.job)).toMatchObject({ 'user.age': 'number', flag: 'number' });
  expect(await read(dense.job, 'nested.jsonl')).toEqual([200, 0]);
});

test('name the texts of labels of which only the test file has truth values', async () => {
  const records = (of: (is: boolean) => unknown) =>
    repeat(40, (at) => JSON.stringify({ x: at / 3, label: of(at % 2 === 0) }));
  file('words.jsonl', records(String));
  file('truth.jsonl', records(Boolean));
  const { job } = await printed('--data', 'truth.jsonl', '--test', 'words.jsonl');
  expect(job.data.columns?.[1]).toMatchObject({ positive: ['true'], negative: ['false'] });
  expect([await read(job, 'truth.jsonl'), await read(job, 'words.jsonl')]).toEqual([
    [40, 0],
    [40, 0],
  ]);
});

test('of RecordIO are of the format of its records', async () => {
  writeFileSync(
    join(cwd, 'packed.recordio'),
    chunkOf(
      repeat(60, (at) => JSON.stringify({ x: at / 3, label: at % 2 })),
      'snappy',
    ),
  );
  const { job } = await printed('--data', 'packed.recordio');
  expect(job).toMatchObject({ name: 'packed', data: { format: 'jsonl' } });
  expect(await read(job, 'packed.recordio')).toEqual([60, 0]);
});

test('of fields with two colons between them are of interactions', async () => {
  const lineAt = (at: number) => [1 + (at % 90), 1 + (at % 7), 1 + (at % 5), 978_300_760 + 60 * at];
  const lines = repeat(600, (at) => lineAt(at).join('::'));
  file('ratings.dat', lines);
  const { job, text } = await printed('--data', 'ratings.dat');
  expect(text).toContain('  csv:\n    header: false # the columns are in the order of the fields');
  expect(text).not.toContain('quote');
  expect(job).toMatchObject({
    data: { format: 'interactions', groupBy: 'user', dialect: { header: false, delimiter: '::', quote: null } },
    model: { type: 'fm', task: 'regression' },
  });
  expect(types(job)).toEqual({ user: 'category', item: 'category', c3: 'label', c4: 'time' });
  expect(job.data.split).toEqual({ fromMs: 1000 * (978_300_760 + 60 * 479) });
  expect(await read(job, 'ratings.dat')).toEqual([600, 0]);

  file('named.dat', ['who::what::stars::at', ...lines, '1::2']);
  const named = await printed('--data', 'named.dat');
  expect(named.job.data.dialect?.header).toBe(true);
  expect(named.job.data.maxBadRecords).toBeGreaterThan(0);
  expect(types(named.job)).toEqual({ who: 'category', what: 'category', stars: 'label', at: 'time' });
  expect(await read(named.job, 'named.dat')).toEqual([600, 1]);

  const tabs = lines.map((line) => line.replaceAll('::', '\t'));
  file('u.data', tabs);
  const plain = await printed('--data', 'u.data');
  expect(plain.text).not.toContain('delimiter');
  expect(plain.job.data).toMatchObject({ format: 'interactions', dialect: { delimiter: '\t' } });
  expect(await read(plain.job, 'u.data')).toEqual([600, 0]);
  file(
    'u.csv',
    tabs.map((line) => line.replaceAll('\t', ',')),
  );
  const commas = await printed('--data', 'u.csv');
  expect(commas.job.data).toMatchObject({ format: 'interactions', dialect: { delimiter: ',' } });
  expect(await read(commas.job, 'u.csv')).toEqual([600, 0]);

  // Whatever else there is.
  file(
    'scored.dat',
    repeat(600, (at) => `${1 + (at % 90)}::${1 + (at % 7)}::${at / 8}::${1 + (at % 5)}`),
  );
  const scored = await printed('--data', 'scored.dat');
  expect(scored.job.model.type).toBe('fm');
  expect(types(scored.job)).toEqual({ user: 'category', item: 'category', c3: 'number', c4: 'label' });

  // Ids are no numbers to a model of numbers.
  const dense = await paddlet('init', '--data', 'ratings.dat', '--model', 'softmax', '--output', '-');
  expect([dense.code, dense.err]).toEqual([2, expect.stringContaining('no column is numeric')]);
  file(
    'alone.dat',
    repeat(60, (at) => `${at % 9}::${at % 7}::${978_300_760 + 60 * at}`),
  );
  const alone = await paddlet('init', '--data', 'alone.dat', '--output', '-');
  expect([alone.code, alone.err]).toEqual([2, expect.stringContaining('add negative examples')]);
});

test('of ratings with a header take ids for what they are', async () => {
  const lines = repeat(600, (at) => [1 + (at % 90), 1 + (at % 37), 1 + (at % 5), 978_300_760 + 60 * at].join(','));
  file('named.csv', ['userId,movieId,rating,timestamp', ...lines]);
  const { job } = await printed('--data', 'named.csv');
  expect(job.model).toMatchObject({ type: 'lr', task: 'regression' });
  expect(types(job)).toEqual({ userId: 'category', movieId: 'category', rating: 'label', timestamp: 'time' });
});

test('of many files say that the first one was looked at', async () => {
  mkdirSync(join(cwd, 'days'));
  for (const day of ['1', '2', '3']) {
    file(`days/${day}.csv`, [
      'when,x,label',
      ...repeat(2000, (at) => `2024-01-0${day}T${10 + (at % 10)}:00:00Z,${at / 8},${at % 2}`),
    ]);
  }
  const { job, text } = await printed('--data', 'days');
  expect(text).toContain('  train: days # days/1.csv was looked at, of 3 files\n');
  expect(job.training).toMatchObject({ passes: 3, batchSize: 128 });
  // Later times are in other files.
  expect(job.data.split).toEqual({ test: 0.2 });
});

test('are of files of one format', async () => {
  writeRows();
  const ran = await paddlet('init', '--data', 'rows.jsonl', '--test', 'rows.csv', '--output', '-');
  expect([ran.code, ran.err]).toEqual([
    2,
    expect.stringContaining('expected test files in the format of rows.jsonl, but rows.csv has another'),
  ]);
});
