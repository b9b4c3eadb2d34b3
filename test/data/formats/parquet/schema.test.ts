/** Schemas of writers that are not at hand, and what old ones say of types. */
import type { SchemaElement } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { leavesOf } from '../../../../src/data/formats/parquet/schema.ts';
import { type Crafted, craftedFile, u32 } from './crafted.ts';
import { columnOf } from './shown.ts';

const root = (children: number): SchemaElement => ({ name: 'root', num_children: children });

describe('lists', () => {
  const group = (
    name: string,
    repetition: SchemaElement['repetition_type'],
    more: Partial<SchemaElement> = {},
  ): SchemaElement => ({
    name,
    num_children: 1,
    repetition_type: repetition!,
    ...more,
  });
  const leaf = (name: string, repetition: SchemaElement['repetition_type']): SchemaElement => ({
    name,
    type: 'INT32',
    repetition_type: repetition!,
  });
  const LIST = { converted_type: 'LIST' } as const;

  test.each([
    [
      'of two levels',
      [group('a', 'OPTIONAL', LIST), leaf('array', 'REPEATED')],
      { name: 'a', definition: 2, element: 2 },
    ],
    ['of one', [leaf('a', 'REPEATED')], { name: 'a', definition: 1, element: 1 }],
    [
      'of three',
      [group('a', 'OPTIONAL', { logical_type: { type: 'LIST' } }), group('bag', 'REPEATED'), leaf('item', 'OPTIONAL')],
      { name: 'a', definition: 3, element: 2 },
    ],
    [
      'of three that are always there',
      [group('a', 'REQUIRED', LIST), group('list', 'REPEATED'), leaf('element', 'REQUIRED')],
      { name: 'a', definition: 1, element: 1 },
    ],
    ['in a struct', [group('s', 'OPTIONAL'), leaf('a', 'REPEATED')], { name: 's.a', definition: 2, element: 2 }],
    [
      'of three in a struct',
      [group('s', 'OPTIONAL'), group('a', 'REQUIRED', LIST), group('list', 'REPEATED'), leaf('element', 'OPTIONAL')],
      { name: 's.a', definition: 3, element: 2 },
    ],
  ])('%s', (_, elements, expected) => {
    expect(leavesOf([root(1), ...elements])[0]).toMatchObject(expected);
  });
});

describe('types of old writers', () => {
  test.each<[SchemaElement['type'], Partial<SchemaElement>, unknown]>([
    ['INT32', { converted_type: 'DATE' }, { storage: 'i32', meaning: { kind: 'date' } }],
    ['INT32', { converted_type: 'TIME_MILLIS' }, { storage: 'i32', meaning: { kind: 'time', unit: 'ms' } }],
    ['INT64', { converted_type: 'TIME_MICROS' }, { storage: 'i64', meaning: { kind: 'time', unit: 'us' } }],
    ['INT64', { converted_type: 'TIMESTAMP_MILLIS' }, { meaning: { kind: 'timestamp', unit: 'ms', isUtc: true } }],
    ['INT64', { converted_type: 'TIMESTAMP_MICROS' }, { meaning: { kind: 'timestamp', unit: 'us', isUtc: true } }],
    ['INT32', { converted_type: 'UINT_8' }, { storage: 'u32', meaning: { kind: 'integer' } }],
    ['INT64', { converted_type: 'UINT_64' }, { storage: 'u64', meaning: { kind: 'integer' } }],
    ['INT64', { converted_type: 'INT_64' }, { storage: 'i64', meaning: { kind: 'integer' } }],
    [
      'INT32',
      { converted_type: 'DECIMAL', precision: 9, scale: 2 },
      { storage: 'i64', meaning: { kind: 'decimal', scale: 2 } },
    ],
    [
      'BYTE_ARRAY',
      { converted_type: 'DECIMAL', precision: 18 },
      { storage: 'i64', meaning: { kind: 'decimal', scale: 0 } },
    ],
    [
      'BYTE_ARRAY',
      { converted_type: 'DECIMAL', precision: 19, scale: 1 },
      { storage: 'bytes', meaning: { kind: 'decimal', scale: 1 } },
    ],
    ['BYTE_ARRAY', { converted_type: 'UTF8' }, { storage: 'bytes', meaning: { kind: 'string' } }],
    ['BYTE_ARRAY', { converted_type: 'ENUM' }, { storage: 'bytes', meaning: { kind: 'string' } }],
    ['BYTE_ARRAY', { converted_type: 'JSON' }, { storage: 'bytes', meaning: { kind: 'string' } }],
    ['BYTE_ARRAY', {}, { storage: 'bytes', meaning: { kind: 'binary' } }],
  ])('%s %j', (type, more, expected) => {
    const element: SchemaElement = {
      name: 'x',
      repetition_type: 'REQUIRED',
      ...more,
      ...(type === undefined ? {} : { type }),
    };
    expect(leavesOf([root(1), element])[0]).toMatchObject(expected as object);
  });
});

describe('INT96', () => {
  const dated = (nanoseconds: bigint, julianDay: number): Crafted => {
    const body = Buffer.alloc(12);
    body.writeBigUInt64LE(nanoseconds);
    body.writeUInt32LE(julianDay, 8);
    return { type: 'i96', pages: [{ kind: 'v1', values: 1, body: [...body] }] };
  };

  test('the last microsecond of the year 9999', async () => {
    const file = craftedFile(dated(86_399_999_999_999n, 5_373_484));
    expect(await columnOf(file, 'x')).toEqual([253_402_300_799_999_999n]);
  });

  test('a day that is too far away', async () => {
    const file = craftedFile(dated(0n, 4_000_000_000));
    await expect(columnOf(file, 'x')).rejects.toThrow('f: row group 0, column x: value 0 does not fit into 64 bits');
  });
});

describe('decimals of any length', () => {
  const decimal = (...bytes: readonly number[]): Crafted => ({
    type: 'bytes',
    pages: [{ kind: 'v1', values: 1, body: [...u32(bytes.length), ...bytes] }],
    schema: [
      { 4: 'root', 5: 1 },
      { 1: 6, 3: 0, 4: 'x', 6: 5, 7: 2, 8: 18 },
    ],
  });

  test.each([
    ['no byte', [], 0n],
    ['one', [0xfe], -2n],
    ['three', [0x7f, 0xff, 0xfe], 8_388_606n],
    ['five', [0xff, 0, 0, 0, 1], -4_294_967_295n],
    ['eight', [0x80, 0, 0, 0, 0, 0, 0, 0], -(2n ** 63n)],
    ['nine', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd], -3n],
  ])('%s', async (_, bytes, value) => {
    expect(await columnOf(craftedFile(decimal(...bytes)), 'x')).toEqual([value]);
  });

  test('more digits than the column says', async () => {
    const file = craftedFile(decimal(1, 0, 0, 0, 0, 0, 0, 0, 0));
    await expect(columnOf(file, 'x')).rejects.toThrow('f: row group 0, column x: value 0 does not fit into 64 bits');
  });
});

test.each([-1, 77, 2 ** 31 - 1])('a decimal with %d places is refused: its text would have no bound', (scale) => {
  const price: SchemaElement = {
    ...{ name: 'price', type: 'INT32', repetition_type: 'REQUIRED', converted_type: 'DECIMAL' },
    scale,
  };
  expect(() => leavesOf([root(1), price])).toThrow(`a decimal cannot have ${scale} places`);
});
