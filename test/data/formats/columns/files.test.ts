/** Files of columns hold what the text has that they were made of: each job reads the same records. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Column, ColumnSpec } from '../../../../src/data/columns/column.ts';
import { lookAtFirst } from '../../../../src/data/first-records.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import { ParsedCache } from '../../../../src/data/parsed/cache.ts';
import type { Selection } from '../../../../src/data/selection.ts';
import { createTaskReader } from '../../../../src/data/task-reader.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import { CSV, category, cross, LABEL, list, number } from '../../columns/samples.ts';
import { bitsOf } from '../../parsed/compare.ts';
import type { TestPlace } from '../../place.ts';
import { type How, placeWith, recordsOf, write } from '../csv/read-files.ts';
import { COLUMNS, columnsOf, convert, SPEC, textOf } from './converted.ts';

const RECORDS = 2500;

async function converted(odd?: number): Promise<TestPlace> {
  const place = placeWith({ 'log.csv': textOf(RECORDS, odd) });
  await convert(place, 'log.csv', 'log.columns');
  return place;
}

/** Without the places of bad records, which name the source in one of the two. */
async function bothOf(place: TestPlace, how: How = {}) {
  const text = await recordsOf(place, { spec: SPEC, ...how, what: 'log.csv' });
  const columns = await recordsOf(place, { spec: SPEC, ...how, what: 'log.columns', format: 'columns' });
  return { text, columns };
}

describe('the same records', () => {
  const others: Column[] = [
    COLUMNS[0]!,
    number('x', { normalize: 'minmax', missing: 'error' }),
    list('l', { maxLength: 2 }),
    category('c'),
    cross('cc', ['c', 'i']),
    category('i', { ids: 'integer' }),
  ];

  test.each<[string, How, number?]>([
    ['in tasks that are cut within blocks', { recordsPerTask: 300 }],
    ['in tasks of several blocks', { recordsPerTask: 1500, batchSize: 64 }],
    [
      'with other settings, and without some columns',
      { spec: { columns: others, dialect: CSV }, recordsPerTask: 700 },
      0,
    ],
    ['as rows', { spec: { columns: [COLUMNS[0]!, number('x')], dialect: CSV }, input: 'dense' }, 0],
  ])('%s', async (_, how, odd) => {
    // What is bad in a column that a job does not read is bad in a converted file.
    const { text, columns } = await bothOf(await converted(odd), { labels: { task: 'binary' }, ...how });
    expect(isDeepStrictEqual(columns.bits, text.bits)).toBe(true);
    expect(columns.index.statistics).toEqual(text.index.statistics);
    expect(columns.index).toMatchObject({ records: RECORDS, labelBound: text.index.labelBound });
    expect(columns.bad.length).toBe(text.bad.length);
    expect(text.bad.length > RECORDS / 50).toBe(how.input !== 'dense');
  });

  test('are bad for the same reasons', async () => {
    const { text, columns } = await bothOf(await converted());
    const shown = text.bad.map((bad) => `log.columns:${Number(/:(\d+):/.exec(bad)![1]) - 1}: ${bad}`);
    expect(columns.bad).toEqual(shown);
  });

  test('of numbers as labels, whatever the model takes of them', async () => {
    const place = placeWith({ 'log.csv': 'label,x\n1,1\n-1,2\n3,3\n0.5,4\n0,5\n' });
    const spec: ColumnSpec = { columns: [LABEL, number('x')], dialect: CSV };
    await convert(place, 'log.csv', 'log.columns', spec);
    for (const task of ['binary', 'regression'] as const) {
      const { text, columns } = await bothOf(place, { spec, labels: { task } });
      expect(columns.labels).toEqual(text.labels);
      expect(columns.bad.length).toBe(task === 'binary' ? 2 : 0);
    }
  });

  test('of a gzip file, and from the cache', async () => {
    const place = await converted();
    write(place, 'log.columns', gzipSync(readFileSync(join(place.folder, 'log.columns'))));
    const cache = new ParsedCache(place, { bytes: 2 ** 30 });
    const first = await bothOf(place, { cache });
    const again = await bothOf(place, { cache: new ParsedCache(place, { bytes: 2 ** 30 }) });
    expect(isDeepStrictEqual(first.columns.bits, first.text.bits)).toBe(true);
    expect(isDeepStrictEqual(again.columns.bits, first.text.bits)).toBe(true);
  });

  test.each<[string, Selection]>([
    ['by user', { part: 'train', seed: 3, split: { test: 0.3, by: 'g' }, negatives: undefined }],
    ['by share', { part: 'test', seed: 3, split: { test: 0.3 }, negatives: undefined }],
    ['and sampled', { part: 'train', seed: 3, split: { test: 0.1 }, negatives: { rate: 0.3, correction: 'weight' } }],
    ['in time', { part: 'test', seed: 3, split: { fromMs: Date.UTC(2024, 4, 1) }, negatives: undefined }],
  ])('of a split %s', async (_, selection) => {
    const place = await converted();
    const bits = await Promise.all(
      (['csv', 'columns'] as const).map(async (format) => {
        const labels = { task: 'binary' } as const;
        const what = `log.${format}`;
        const index = await buildIndex(place, {
          ...{ what, format, columns: SPEC, recordsPerTask: 300 },
          selected: { selection, labels },
        });
        expect(index.records).toBeLessThan(0.8 * RECORDS);
        const columns = { ...SPEC, statistics: index.statistics ?? [], input: 'sparse' as const };
        const reader = createTaskReader(place, {
          ...{ format, files: index.files, labels, inputWidth: 0, batchSize: 50, columns, selection },
        });
        const tasks: unknown[] = [];
        for (const chunks of cutTasks(index, 300)) {
          const task = await reader.read(chunks);
          tasks.push(bitsOf(task.batch(0, task.records)), task.bad.length);
        }
        await reader.close();
        return tasks;
      }),
    );
    expect(isDeepStrictEqual(bits[1], bits[0])).toBe(true);
  });
});

describe('what a job cannot read so', () => {
  const changed = (name: string, column: Column): ColumnSpec => ({
    columns: COLUMNS.map((one) => (one.name === name ? column : one)),
    dialect: CSV,
  });

  test.each<[string, ColumnSpec, string]>([
    [
      'an unknown column',
      { columns: [...COLUMNS, category('z')], dialect: CSV },
      'does not have a column z; its columns are y, x, c',
    ],
    [
      'another type',
      changed('x', category('x')),
      'column x of log.columns was converted with type "number", but the job has "category"',
    ],
    [
      'another vocabulary',
      changed('c', category('c', { vocabulary: 'v' })),
      'with vocabulary "c", but the job has "v"',
    ],
    [
      'buckets',
      changed('i', category('i', { ids: 'integer', buckets: 9 })),
      'with vocabulary none, but the job has "i"',
    ],
    ['another separator', changed('l', list('l', { separator: ';' })), 'with separator "|", but the job has ";"'],
    [
      'other labels',
      changed('y', { name: 'y', type: 'label', positive: ['yes'] }),
      'with positive ["yes","ja"], but the job has ["yes"]',
    ],
  ])('%s', async (_, spec, message) => {
    const place = await converted();
    await expect(recordsOf(place, { spec, what: 'log.columns', format: 'columns' })).rejects.toThrow(message);
  });
});

test('many texts of labels make no long reasons', async () => {
  const classes = Array.from({ length: 2000 }, (_, at) => `class ${at}`);
  const place = placeWith({ 'log.csv': `y,x\nclass 1,1\n${'odd,2\n'.repeat(1500)}class 7,3\n` });
  const spec: ColumnSpec = { columns: [{ name: 'y', type: 'label', classes }, number('x')], dialect: CSV };
  await convert(place, 'log.csv', 'log.columns', spec);
  const { columns, text } = await bothOf(place, { spec, input: 'dense', recordsPerTask: 2000 });
  expect(columns.labels).toEqual(text.labels);
  expect(columns.bad[0]).toMatch(/label "odd" is not one of "class 0", .* "class 7" and 1992 more$/);
});

test('a look at the first records finds what a job cannot read', async () => {
  const place = await converted();
  const look = (columns: ColumnSpec) => lookAtFirst(place, { format: 'columns', columns }, ['log.columns']);
  expect(await look(SPEC)).toMatchObject({ isWhole: true });
  await expect(look({ columns: [...COLUMNS, category('z')], dialect: CSV })).rejects.toThrow(
    'does not have a column z',
  );
});

describe('damage', () => {
  const small = { columns: [COLUMNS[0]!, number('x'), list('l')], dialect: CSV };
  const SMALL = 'y,x,l\nyes,1,a|b\nno,,\nmaybe,2,c\nno,3,a\n';
  const read = (place: TestPlace) => recordsOf(place, { spec: small, what: 'made.columns', format: 'columns' });

  test('of any byte, and a cut at any place, are refused', async () => {
    const place = placeWith({ 'log.csv': SMALL });
    const whole = await columnsOf(place, 'log.csv', small);
    await expect(read(place)).resolves.toMatchObject({ records: 4, labels: [1, 0, 0] });
    for (let at = 0; at < whole.length; at += 3) {
      const other = Buffer.from(whole);
      other[at]! ^= 1 << (at % 8);
      write(place, 'made.columns', other);
      await expect(read(place), `byte ${at}`).rejects.toMatchObject({ code: 'DataInvalid' });
      write(place, 'made.columns', whole.subarray(0, at));
      await expect(read(place), `${at} bytes`).rejects.toMatchObject({ code: 'DataInvalid' });
    }
    write(place, 'made.columns', Buffer.concat([whole, whole.subarray(whole.length - 32)]));
    await expect(read(place)).rejects.toThrow('made.columns is damaged: the block at byte');
  });

  test('since the index was made is found', async () => {
    const place = placeWith({ 'log.csv': SMALL });
    const whole = await columnsOf(place, 'log.csv', small);
    const how = { what: 'made.columns', format: 'columns', columns: small, recordsPerTask: 10 } as const;
    const { files, chunks } = await buildIndex(place, how);
    write(place, 'log.csv', SMALL.replace('3,a', '4,a'));
    expect((await columnsOf(place, 'log.csv', small)).length).toBe(whole.length);
    const columns = { ...small, statistics: [{ ...STATISTICS, name: 'x' }], input: 'sparse' as const };
    const options = {
      format: 'columns',
      files,
      labels: { task: 'binary' },
      inputWidth: 0,
      batchSize: 4,
      columns,
    } as const;
    await expect(createTaskReader(place, options).read(chunks)).rejects.toMatchObject({ code: 'DataChanged' });
  });

  const STATISTICS = { present: 1, missing: 0, mean: 0, deviation: 1, min: 0, max: 1 };
});
