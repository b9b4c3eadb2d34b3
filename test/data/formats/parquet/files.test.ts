/** Parquet files, indexed and read as trainers do: the records are those of CSV with the same values. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import type { Column, ColumnSpec } from '../../../../src/data/columns/column.ts';
import { hash64, missingId, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import { convertFile } from '../../../../src/data/convert.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import { lookAsJob } from '../../../../src/data/inspection/job-columns.ts';
import { ROOT } from '../../../source-files.ts';
import { CSV, category, cross, LABEL, list, number } from '../../columns/samples.ts';
import { count, type How, indexOf, placeWith, readAll, recordsOf } from '../csv/read-files.ts';

type Writing = Parameters<typeof parquetWriteBuffer>[0]['columnData'][number];

const parquetOf = (columnData: Writing[], rowGroupSize = 100): Buffer =>
  Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize }));

const RECORDS = 400;
const COLUMNS: Column[] = [
  { name: 'label', type: 'label', positive: ['yes'], negative: ['no'] },
  number('x', { quantiles: 4 }),
  number('y', { normalize: 'standard', missing: 'error' }),
  category('c'),
  category('k', { buckets: 50 }),
  category('i', { ids: 'integer' }),
  list('l', { maxLength: 3 }),
  list('n', { ids: 'integer', separator: ' ' }),
  { name: 'w', type: 'weight' },
  { name: 'g', type: 'group', ids: 'integer' },
  { name: 't', type: 'time', format: 'iso', zone: 'UTC' },
  cross('cx', ['c', 'x'], 50),
];
const SPEC: ColumnSpec = { columns: COLUMNS, dialect: { ...CSV, missing: ['', '?'] } };

const label = (at: number): string => (at % 90 === 41 ? 'maybe' : at % 3 === 0 ? 'yes' : 'no');
const x = (at: number): number | undefined => (at % 7 === 0 ? undefined : (at * 37) % 101);
const y = (at: number): number | undefined => (at % 80 === 5 ? undefined : at / 8 - 3);
const c = (at: number): string | undefined => ['Oslo', 'Zürich', undefined, 'São "Paulo"', '?'][at % 5];
const k = (at: number): bigint => BigInt(at) * 9_007_199_254_740_993n;
const i = (at: number): bigint | undefined => (at % 11 === 0 ? undefined : -1n * BigInt(at) ** 3n);
const l = (at: number): string[] =>
  [[], ['a'], ['a', 'b'], ['c', 'a', 'ü'], ['a', 'b', 'c', 'd']][at % 47 === 3 ? 4 : at % 4]!;
const n = (at: number): number[] => [[], [at], [1, -at]][at % 3]!;
const w = (at: number): number => (at % 95 === 7 ? -1 : (at % 4) / 2);
const g = (at: number): number => (at % 9) + 1;
const t = (at: number): Date => new Date(Date.UTC(2024, 0, 1 + (at % 28), at % 24, 0, 0, at % 1000));

const all = count(RECORDS);
const quoted = (value: unknown): string => (value === undefined ? '' : `"${String(value).replaceAll('"', '""')}"`);
const csv = ['label,x,y,c,k,i,l,n,w,g,t']
  .concat(
    all.map((at) =>
      [
        label(at),
        x(at),
        y(at),
        c(at),
        k(at),
        i(at),
        l(at).join('|'),
        n(at).join(' '),
        w(at),
        g(at),
        t(at).toISOString(),
      ]
        .map(quoted)
        .join(','),
    ),
  )
  .join('\n');

const made = (rowGroupSize?: number): Buffer =>
  parquetOf(
    [
      { name: 'other', data: all, type: 'INT32' },
      { name: 't', data: all.map(t), type: 'TIMESTAMP' },
      { name: 'label', data: all.map(label), type: 'STRING' },
      { name: 'x', data: all.map(x), type: 'INT32', nullable: true },
      { name: 'y', data: all.map(y), type: 'DOUBLE', nullable: true },
      { name: 'c', data: all.map(c), type: 'STRING', nullable: true },
      { name: 'k', data: all.map(k), type: 'INT64' },
      { name: 'i', data: all.map(i), type: 'INT64', nullable: true },
      // As texts with a separator: lists of the file are in `values.test.ts`.
      { name: 'l', data: all.map((at) => l(at).join('|')), type: 'STRING' },
      { name: 'n', data: all.map((at) => n(at).join(' ')), type: 'STRING' },
      { name: 'w', data: all.map(w), type: 'FLOAT' },
      { name: 'g', data: all.map(g), type: 'INT32' },
    ],
    rowGroupSize,
  );

describe('the same records as of CSV', () => {
  test.each<[string, Buffer, How]>([
    ['in row groups', made(100), {}],
    ['in one', made(1000), {}],
    ['in tasks that are cut anywhere', made(150), { recordsPerTask: 37 }],
  ])('%s', async (_, bytes, how) => {
    const place = placeWith({ 'a.csv': csv, 'a.parquet': bytes });
    const common = { spec: SPEC, labels: { task: 'binary' }, recordsPerTask: 1000, ...how } as const;
    const expected = await recordsOf(place, common);
    const got = await recordsOf(place, { ...common, what: 'a.parquet', format: 'parquet' });
    expect(got.bits).toEqual(expected.bits);
    expect(got.index.statistics).toEqual(expected.index.statistics);
    // A header is a line of its own.
    const moved = expected.bad.map((bad) =>
      bad.replace(/a\.csv:(\d+)/, (_all, line) => `a.parquet:${Number(line) - 1}`),
    );
    expect(got.bad).toEqual(moved);
    expect(got.bad.length).toBeGreaterThan(20);
  });
});

const golden = (name: string): Buffer => readFileSync(join(ROOT, `test/golden/data/parquet/${name}.parquet`));
const seedOf = (name: string): bigint => vocabularySeed(name);
const idOf = (name: string, text: string | null): bigint =>
  text === null ? missingId(seedOf(name)) : hash64(Buffer.from(text, 'latin1'), seedOf(name));

/** Of each good record, the ids of its features. */
async function idsIn(file: Buffer, columns: Column[], missing = ['']): Promise<bigint[][]> {
  const place = placeWith({ 'a.parquet': file });
  const how = { what: 'a.parquet', format: 'parquet', spec: { columns, dialect: { ...CSV, missing } } } as const;
  const { index } = await recordsOf(place, how);
  const [task] = await readAll(place, index, how);
  return Array.from({ length: task!.records }, (_, at) => at)
    .filter((at) => task!.goodBefore(at + 1) > task!.goodBefore(at))
    .map((at) => {
      const [input] = task!.batch(at, at + 1).sparse;
      return Array.from(input!.rows, (row) => Buffer.from(input!.ids).readBigUInt64LE(8 * row));
    });
}

const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

describe('files of another writer', () => {
  // Row 2 has no label, and is bad.
  const TEXTS: Readonly<Record<string, readonly (string | null)[]>> = {
    i64: ['9007199254740993', '-9223372036854775808', '0', '9223372036854775807', '7'],
    u64: ['18446744073709551615', '0', null, '9223372036854775808', '5'],
    i32: ['-2147483648', '2147483647', '1', '1', null],
    u32: ['4294967295', '0', '5', null, '5'],
    i8: ['-128', '127', '0', '1', '2'],
    f64: ['0.1', '0', 'Infinity', String(BigInt(1e300)), '0.1'],
    f32: ['0.5', '-1.5', null, '-Infinity', '0.5'],
    f16: ['0.5', '-2', '65504', '0', '1'],
    flag: ['true', 'false', 'true', 'true', 'false'],
    text: ['Oslo', null, utf8('Zürich'), 'Oslo', 'x'.repeat(40)],
    raw: ['\x00\xff', null, 'a', 'b', '\x00\xff'],
    fixed: ['abc', 'def', 'abc', 'ghi', 'abc'],
    day: ['1970-01-02', '1969-12-31', '2024-02-29', '0001-01-01', '9999-12-31'],
    ms: [
      '1970-01-01T00:00:00.001Z',
      '1969-12-31T23:59:59.999Z',
      '2023-12-31T23:59:59.999Z',
      '1970-01-01T00:00:00Z',
      '1970-01-01T00:00:00.001Z',
    ],
    us: [
      '1970-01-01T00:00:00.000001',
      '1969-12-31T23:59:59.999999',
      '2023-12-31T23:59:59.999999',
      '1970-01-01T00:00:00',
      '1970-01-01T00:00:00.000001',
    ],
    ns: [
      '1970-01-01T00:00:00.000000001Z',
      '1969-12-31T23:59:59.999999999Z',
      '2023-12-31T23:59:59.999999999Z',
      '1970-01-01T00:00:00Z',
      '1970-01-01T00:00:00.000000001Z',
    ],
    clock_ms: ['00:00:00', '23:59:59.999', '00:00:00.001', '00:00:00.002', '00:00:00.003'],
    clock_us: ['00:00:00', '23:59:59.999999', '00:00:00.000001', '00:00:00.000002', '00:00:00.000003'],
    d9: ['1234567.89', '-0.01', '0.00', '1.00', '-9999999.99'],
    d18: ['123456789012345.678', '-0.001', '0.000', '1.000', '-999999999999999.999'],
    d38: [`${'1'.repeat(34)}.5678`, '-0.0001', '0.0000', '1.0000', `-${'9'.repeat(34)}.9999`],
    nothing: [null, null, null, null, null],
    id: [0, 1, 3, 4, 5].map((id) => `01000000-0000-0000-0000-00000000000${id}`),
  };

  test.each(['types-v1-plain', 'types-v1-dictionary', 'types-v2-plain', 'types-v2-dictionary'])(
    '%s: categories go by their canonical text',
    async (file) => {
      for (const [name, texts] of Object.entries(TEXTS)) {
        const ids = await idsIn(golden(file), [{ name: 'u8', type: 'label' }, category(name)]);
        expect(ids, name).toEqual(texts.map((text) => [idOf(name, text)]));
      }
    },
  );

  test('lists, and values in structs', async () => {
    const wants: Column[] = [
      { name: 'label', type: 'label', path: 'who.age' },
      list('numbers', { ids: 'integer' }),
      list('tags', { maxLength: 2 }),
      category('name', { path: 'who.name' }),
      list('inner', { ids: 'integer', path: 'deep.list' }),
    ];
    const wide = (1n << 53n) + 1n;
    // Rows 1 and 2 have no label.
    const expected = [
      [1n, wide, idOf('tags', 'a'), idOf('tags', 'b'), idOf('name', 'ann'), 1n],
      [3n, idOf('name', null)],
      [4n, 4n, 4n, 4n, idOf('tags', 'c'), idOf('name', 'ann'), 2n, 3n],
      [idOf('tags', 'b'), idOf('tags', 'a'), idOf('name', 'eve')],
    ];
    for (const file of ['nested-v1', 'nested-v2-plain'])
      expect(await idsIn(golden(file), wants), file).toEqual(expected);
  });

  test('a list that is longer than its column takes is bad', async () => {
    const place = placeWith({ 'a.parquet': golden('nested-v1') });
    const columns: Column[] = [{ name: 'y', type: 'label', path: 'who.age' }, list('numbers', { maxLength: 2 })];
    const { bad } = await recordsOf(place, { what: 'a.parquet', format: 'parquet', spec: { columns, dialect: CSV } });
    expect(bad).toContain('a.parquet:5: column numbers: 4 values, more than 2 (maxLength)');
  });

  test('times are those of the instants, whatever their unit', async () => {
    const place = placeWith({ 'a.parquet': golden('types-v1-plain') });
    for (const [name, zone] of [
      ['ms', 'UTC'],
      ['us', 'UTC'],
      ['ns', 'UTC'],
      ['us', '+01:00'],
      ['day', 'UTC'],
    ] as const) {
      const columns: Column[] = [
        { name: 'u8', type: 'label' },
        { name: 't', type: 'time', format: 'iso', zone, path: name },
        category('text'),
      ];
      const spec = { columns, dialect: CSV };
      const split = await buildIndex(place, {
        ...{ what: 'a.parquet', format: 'parquet', recordsPerTask: 100, columns: spec },
        selected: {
          selection: { part: 'test', seed: 1, split: { fromMs: Date.UTC(2000, 0) } } as never,
          labels: { task: 'regression' },
        },
      });
      expect(split.records, `${name} ${zone}`).toBe(name === 'day' ? 2 : 1);
    }
  });
});

test.each([['-1'], ['1', '0.50', 'true'], ['7', '-1', '?'], ['1e3']])(
  'numbers that are among the missing texts (%s) are missing as in CSV',
  async (...missing: string[]) => {
    const values = [-1, 1, 7, 1000, 2];
    const lines = values.map((value) => `${value},${value},${value},${value},${value}`);
    const file = parquetOf([
      { name: 'label', data: values.map((at) => at / 2), type: 'DOUBLE' },
      ...['x', 'c', 'i', 'g'].map((name): Writing => ({ name, data: values, type: name === 'x' ? 'DOUBLE' : 'INT32' })),
    ]);
    const text = `label,x,c,i,g\n${lines.map((line, at) => line.replace(/^[^,]*/, `${values[at]! / 2}`)).join('\n')}`;
    const place = placeWith({ 'a.csv': text, 'a.parquet': file });
    const columns: Column[] = [LABEL, number('x'), category('c'), category('i', { ids: 'integer' })];
    const spec = {
      columns: [...columns, { name: 'g', type: 'group', ids: 'hash' } as const],
      dialect: { ...CSV, missing },
    };
    const expected = await recordsOf(place, { spec });
    const got = await recordsOf(place, { what: 'a.parquet', format: 'parquet', spec });
    expect(got.bits).toEqual(expected.bits);
    expect(got.index.statistics).toEqual(expected.index.statistics);
  },
);

test('a job looks at it, and converts it', async () => {
  const place = placeWith({ 'a.parquet': made(), 'a.csv': csv });
  const labels = { task: 'binary' } as const;
  const { path: _, ...look } = await lookAsJob(place, 'a.parquet', { format: 'parquet', spec: SPEC, labels }, {});
  const { path: __, ...expected } = await lookAsJob(place, 'a.csv', { format: 'csv', spec: SPEC, labels }, {});
  expect(look.columns).toEqual(expected.columns);
  expect([look.records, look.bad.records, look.isWhole]).toEqual([expected.records, expected.bad.records, true]);
  const first = await lookAsJob(place, 'a.parquet', { format: 'parquet', spec: SPEC, labels }, { records: 150 });
  expect([first.records + first.bad.records, first.isWhole]).toEqual([150, false]);
  const target = join(place.folder, 'made.columns');
  await convertFile(place, 'a.parquet', target, { format: 'parquet', columns: SPEC, onBytes: () => {} });
  const converted = await recordsOf(place, { what: 'made.columns', format: 'columns', spec: SPEC, labels });
  expect(converted.bits).toEqual(
    (await recordsOf(place, { what: 'a.parquet', format: 'parquet', spec: SPEC, labels })).bits,
  );
  expect(converted.bad).toContainEqual(expect.stringMatching(/^made\.columns:\d+: a\.parquet:\d+: column /));
});

test('a text of what is missing is that of no truth value, and of a decimal only with its places', async () => {
  const read = async (column: Column, name: string, missing: string[]) => {
    const place = placeWith({ 'a.parquet': golden('types-v1-plain') });
    const how = {
      what: 'a.parquet',
      format: 'parquet',
      spec: { columns: [{ name: 'u8', type: 'label' } as const, column], dialect: { ...CSV, missing } },
    } as const;
    const { index } = await recordsOf(place, how);
    return index.statistics![0]!.missing - (name === 'flag' || name === 'd9' ? 0 : 1);
  };
  // Row 2 is bad; of the others 1.00 is one.
  expect(await read(number('flag'), 'flag', ['1'])).toBe(0);
  expect(await read(number('flag'), 'flag', ['true'])).toBe(3);
  expect(await read(number('d9'), 'd9', ['1'])).toBe(0);
  expect(await read(number('d9'), 'd9', ['1.00'])).toBe(1);
});

describe('columns that do not fit', () => {
  test.each<[Column, string]>([
    [number('x'), 'a.parquet has no column x'],
    [number('ms'), 'column ms has values of the kind timestamp, the job reads it as number'],
    [number('numbers'), 'column numbers has lists: only a column of type categories reads them, not number'],
    [
      { name: 'flag', type: 'time', format: 'iso', zone: 'UTC' },
      'column flag has values of the kind boolean, which say no time',
    ],
    [category('map.key_value.value'), 'it is of a map'],
  ])('%j', async (column, message) => {
    const file = column.name === 'numbers' || column.name.startsWith('map') ? 'nested-v1' : 'types-v1-plain';
    const place = placeWith({ 'a.parquet': golden(file) });
    const first: Column =
      file === 'nested-v1' ? { name: 'y', type: 'label', path: 'who.age' } : { name: 'u8', type: 'label' };
    const spec = { columns: [first, column], dialect: CSV };
    const reading = indexOf(place, { what: 'a.parquet', format: 'parquet', spec });
    await expect(reading).rejects.toMatchObject({ code: 'DataInvalid', message: expect.stringContaining(message) });
  });
});

test('a label that all records have, and values in the path', async () => {
  const all: How = { what: 'day=7', labels: { task: 'binary' } };
  const columns: Column[] = [
    { name: 'label', type: 'label', value: 1 },
    category('c'),
    category('day', { from: 'folder' }),
  ];
  const spec: ColumnSpec = { columns, dialect: { ...CSV, missing: ['1'] } };
  const parquet = parquetOf([{ name: 'c', data: ['a', 'b', 'a'], type: 'STRING' }], 2);
  const read = await recordsOf(placeWith({ 'day=7/a.parquet': parquet }), { ...all, spec, format: 'parquet' });
  const ofCsv = await recordsOf(placeWith({ 'day=7/a.csv': 'c\na\nb\na\n' }), { ...all, spec, format: 'csv' });
  expect(read.labels).toEqual([1, 1, 1]);
  expect(read.bits).toEqual(ofCsv.bits);
});
