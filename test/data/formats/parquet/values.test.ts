/** Columns of files that other writers have made: see test/golden/data/parquet/make.py for what is in them. */
import { describe, expect, test } from 'vitest';
import { readColumn } from '../../../../src/data/formats/parquet/column.ts';
import { leafNamed } from '../../../../src/data/formats/parquet/footer.ts';
import { unscaledOf } from '../../../../src/data/formats/parquet/refined.ts';
import { columnOf, fileBytes, footerOf, readOf, type Shown } from './shown.ts';

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

const TYPES: Readonly<Record<string, readonly Shown[]>> = {
  i64: [9007199254740993n, -9223372036854775808n, null, 0n, 9223372036854775807n, 7n],
  u64: [18446744073709551615n, 0n, 1n, null, 9223372036854775808n, 5n],
  i32: [-2147483648, 2147483647, 0, 1, 1, null],
  u32: [4294967295, 0, 5, 5, null, 5],
  i8: [-128, 127, null, 0, 1, 2],
  u8: [255, 0, null, 1, 2, 3],
  f64: [0.1, -0, null, Number.POSITIVE_INFINITY, 1e300, 0.1],
  f32: [0.5, -1.5, 9.99994610111476e-41, null, Number.NEGATIVE_INFINITY, 0.5],
  f16: [0.5, -2, null, 65504, 0, 1],
  flag: [1, 0, null, 1, 1, 0],
  text: ['Oslo', '', null, latin1('Zürich'), 'Oslo', 'x'.repeat(40)],
  raw: ['\x00\xff', '', null, 'a', 'b', '\x00\xff'],
  fixed: ['abc', 'def', null, 'abc', 'ghi', 'abc'],
  day: [1, -1, null, 19782, -719162, 2932896],
  ms: [1n, -1n, null, 1704067199999n, 0n, 1n],
  us: [1n, -1n, null, 1704067199999999n, 0n, 1n],
  ns: [1n, -1n, null, 1704067199999999999n, 0n, 1n],
  clock_ms: [0, 86399999, null, 1, 2, 3],
  clock_us: [0n, 86399999999n, null, 1n, 2n, 3n],
  d9: [123456789n, -1n, null, 0n, 100n, -999999999n],
  d18: [123456789012345678n, -1n, null, 0n, 1000n, -999999999999999999n],
  nothing: [null, null, null, null, null, null],
};

const TYPE_FILES = ['types-v1-plain', 'types-v1-dictionary', 'types-v2-plain', 'types-v2-dictionary'];

describe('types', () => {
  test.each(TYPE_FILES.flatMap((file) => Object.entries(TYPES).map(([name, rows]) => [file, name, rows] as const)))(
    '%s: %s',
    async (file, name, rows) => {
      expect(await columnOf(fileBytes(file), name)).toEqual(rows);
    },
  );

  test.each(TYPE_FILES)('%s: decimals of more than 18 digits and UUIDs stay bytes', async (file) => {
    const decimals = await columnOf(fileBytes(file), 'd38');
    expect(decimals.map((value) => value && unscaledOf(Buffer.from(String(value), 'latin1')))).toEqual([
      11111111111111111111111111111111115678n,
      -1n,
      null,
      0n,
      10000n,
      -99999999999999999999999999999999999999n,
    ]);
    const ids = await columnOf(fileBytes(file), 'id');
    expect(ids.map((id) => Buffer.from(String(id), 'latin1').toString('hex'))).toEqual(
      [0, 1, 2, 3, 4, 5].map((id) => `0100000000000000000000000000000${id}`),
    );
  });

  test.each(['d9', 'd18'])('%s as an integer', async (name) => {
    expect(await columnOf(fileBytes('types-integer-decimals'), name)).toEqual(TYPES[name]);
  });

  test('what the values mean', async () => {
    const { leaves } = await footerOf(fileBytes('types-v1-plain'));
    const meanings = Object.fromEntries(leaves.map(({ name, storage, meaning }) => [name, { storage, ...meaning }]));
    expect(meanings).toEqual({
      i64: { storage: 'i64', kind: 'integer' },
      u64: { storage: 'u64', kind: 'integer' },
      i32: { storage: 'i32', kind: 'integer' },
      u32: { storage: 'u32', kind: 'integer' },
      i8: { storage: 'i32', kind: 'integer' },
      u8: { storage: 'u32', kind: 'integer' },
      f64: { storage: 'f64', kind: 'float' },
      f32: { storage: 'f32', kind: 'float' },
      f16: { storage: 'f32', kind: 'float' },
      flag: { storage: 'bool', kind: 'boolean' },
      text: { storage: 'bytes', kind: 'string' },
      raw: { storage: 'bytes', kind: 'binary' },
      fixed: { storage: 'bytes', kind: 'binary' },
      day: { storage: 'i32', kind: 'date' },
      ms: { storage: 'i64', kind: 'timestamp', unit: 'ms', isUtc: true },
      us: { storage: 'i64', kind: 'timestamp', unit: 'us', isUtc: false },
      ns: { storage: 'i64', kind: 'timestamp', unit: 'ns', isUtc: true },
      clock_ms: { storage: 'i32', kind: 'time', unit: 'ms' },
      clock_us: { storage: 'i64', kind: 'time', unit: 'us' },
      d9: { storage: 'i64', kind: 'decimal', scale: 2 },
      d18: { storage: 'i64', kind: 'decimal', scale: 3 },
      d38: { storage: 'bytes', kind: 'decimal', scale: 4 },
      nothing: { storage: 'i32', kind: 'integer' },
      id: { storage: 'bytes', kind: 'uuid' },
    });
  });

  test('INT96 is in microseconds', async () => {
    const bytes = fileBytes('int96');
    expect(await columnOf(bytes, 'when')).toEqual([0n, 1n, null, 1704067199999999n, -1n]);
    const { leaves } = await footerOf(bytes);
    expect(leaves[0]).toMatchObject({ storage: 'i64', meaning: { kind: 'timestamp', unit: 'us' } });
  });
});

const NESTED: Readonly<Record<string, readonly Shown[]>> = {
  numbers: [[1n, 9007199254740993n, null], [], [], [3n], [4n, 4n, 4n, 4n], [null]],
  tags: [['a', 'b'], [], ['a'], [], [null, 'c'], ['b', 'a']],
  'who.age': [1, null, null, 4, 5, 6],
  'who.name': ['ann', null, 'bob', null, 'ann', 'eve'],
  'deep.list': [[1], [], [], [], [2, 3], [null]],
};

describe('lists and structs', () => {
  test.each(['nested-v1', 'nested-v2-plain'])('%s', async (file) => {
    for (const [name, rows] of Object.entries(NESTED)) expect(await columnOf(fileBytes(file), name)).toEqual(rows);
  });

  test('what is always there', async () => {
    const bytes = fileBytes('required');
    expect(await columnOf(bytes, 'number')).toEqual([5n, 6n, 5n]);
    expect(await columnOf(bytes, 'text')).toEqual(['a', 'b', 'a']);
    expect(await columnOf(bytes, 'list')).toEqual([[1, 2], [3], []]);
  });
});

const rows = <T>(value: (row: number) => T): T[] => Array.from({ length: 1000 }, (_, row) => value(row));
const MANY: Readonly<Record<string, readonly Shown[]>> = {
  small: rows((row) => row % 7),
  falling: rows((row) => (row % 2 === 0 ? 2147483647 : -2147483648)),
  large: rows((row) => BigInt.asIntN(64, BigInt(row) * 0x9e3779b97f4a7c15n)),
  rising: rows((row) => (row % 10 === 3 ? null : 1_000_000_000_000n + 1000n * BigInt(row))),
  half: rows((row) => row / 2),
  single: rows((row) => (row % 3 === 0 ? null : row / 4)),
  text: rows((row) => `user ${row}`),
  sorted: rows((row) => (row % 100 === 99 ? null : `key ${String(row).padStart(5, '0')}`)),
  city: rows((row) => `city ${row % 3}`),
  flag: rows((row) => Number(row % 5 === 0)),
  list: rows((row) => Array<number>(row % 4).fill(row)),
};

describe('many rows', () => {
  // Differences, prefixes, split floats; and many pages, of which the first ones only are by index.
  test.each(['many-encodings', 'many-pages'])('%s', async (file) => {
    for (const [name, values] of Object.entries(MANY)) expect(await columnOf(fileBytes(file), name)).toEqual(values);
  });

  test('what a dictionary has is there once', async () => {
    const bytes = fileBytes('types-v1-dictionary');
    const footer = await footerOf(bytes);
    const { values, indexes, nulls } = await readColumn(footer, 0, leafNamed(footer, 'fixed'), readOf(bytes));
    expect(values).toMatchObject({ kind: 'bytes', starts: Uint32Array.of(0, 3, 6), ends: Uint32Array.of(3, 6, 9) });
    expect(indexes).toEqual(Uint32Array.of(0, 1, 0, 0, 2, 0));
    expect(nulls).toEqual(Uint8Array.of(0, 0, 1, 0, 0, 0));
  });
});

describe('files of DuckDB', () => {
  const forty = <T>(value: (row: number) => T): T[] => Array.from({ length: 40 }, (_, row) => value(row));
  const COLUMNS: Readonly<Record<string, readonly Shown[]>> = {
    id: forty((row) => 9007199254740993n + BigInt(row)),
    big: forty((row) => 18446744073709551615n - BigInt(row)),
    quarter: forty((row) => row / 4),
    flag: forty((row) => Number(row % 3 === 0)),
    city: forty((row) => (row % 5 === 0 ? null : `city ${row % 2}`)),
    name: forty((row) => `user ${row * 7919}`),
    price: forty((row) => 100n * BigInt(row - 1)),
    time: forty((row) => 1_704_067_200_000_000n + 1_000_000n * BigInt(row)),
    day: forty((row) => 19_781 + row),
    pair: forty((row) => [BigInt(row), BigInt(row + 1)]),
    's.a': forty((row) => BigInt(row)),
    's.b': forty((row) => `x${row}`),
  };

  test.each(['duckdb-v1', 'duckdb-v2'])('%s', async (file) => {
    for (const [name, values] of Object.entries(COLUMNS)) expect(await columnOf(fileBytes(file), name)).toEqual(values);
  });
});

describe('no rows', () => {
  test.each(Object.keys(TYPES))('%s', async (name) => {
    expect(await columnOf(fileBytes('empty'), name)).toEqual([]);
  });

  test('no columns', async () => {
    expect(await footerOf(fileBytes('no-columns'))).toMatchObject({ rows: 0, leaves: [] });
  });
});
