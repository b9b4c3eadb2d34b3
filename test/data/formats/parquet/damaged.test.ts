/** Files that are damaged, or of a kind that cannot be read: each is refused, with what is wrong and where. */
import { describe, expect, test } from 'vitest';
import { isPaddletError } from '../../../../src/base/errors.ts';
import { LIMITS } from '../../../../src/base/limits.ts';
import { readColumn } from '../../../../src/data/formats/parquet/column.ts';
import { leafNamed, readFooter } from '../../../../src/data/formats/parquet/footer.ts';
import * as properties from '../../../properties.ts';
import { type Crafted, craftedFile, ENCODING, encoded, REPETITION, u32, varint, wrapped, zigzag } from './crafted.ts';
import { columnOf, fileBytes, footerOf, readOf } from './shown.ts';

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (isPaddletError(error, 'DataInvalid') && error.hint !== undefined) return error.message;
    throw error;
  }
  throw new Error('it is not refused');
}

const refused = (crafted: Crafted): Promise<string> => refusal(columnOf(craftedFile(crafted), 'x'));

const five = { kind: 'v1', values: 5, body: u32(1, 2, 3, 4, 5) } as const;

test('a file byte by byte', async () => {
  expect(await columnOf(craftedFile({ pages: [five] }), 'x')).toEqual([1, 2, 3, 4, 5]);
});

describe('files', () => {
  test.each([
    ['f is not a Parquet file: it is empty', ''],
    ['f is not a Parquet file: it does not begin with PAR1', 'a,b\n1,2\n3,4\n5,6\n'],
    ['f: its 8 bytes are too few for a Parquet file', 'PAR1PAR1'],
    ['f: it does not end with PAR1: its footer is missing', 'PAR1 and so on, and so on'],
    ['f is encrypted', 'PARE\0\0\0\0\0\0\0\0PARE'],
    ['f is encrypted', 'PAR1\0\0\0\0\0\0\0\0PARE'],
    ['f: its footer cannot have 255 bytes, as it has 16 itself', 'PAR1\0\0\0\0\xff\0\0\0PAR1'],
    ['f: its footer cannot be read: it ends too early', 'PAR1\0\0\0\0PAR1'],
  ])('%s', async (message, text) => {
    expect(await refusal(footerOf(Buffer.from(text, 'latin1')))).toBe(message);
  });

  test('a footer that is too large is not read', async () => {
    const length = LIMITS.parquetFooterBytes + 1;
    const tail = Buffer.from([...u32(length), ...Buffer.from('PAR1')]);
    const asked: number[] = [];
    const read = async (_: number, count: number): Promise<Uint8Array> => {
      asked.push(count);
      return count === 4 ? Buffer.from('PAR1') : tail;
    };
    expect(await refusal(readFooter('f', 2 ** 40, read))).toMatch(/^f: its footer has 33554433 bytes, more than/);
    expect(asked).toEqual([4, 8]);
  });
});

describe('footers', () => {
  const listOf = (size: number) => [0x19, 0xf5, ...varint(size)];

  test.each([
    ['a list is longer than what is left', listOf(2 ** 31 - 1)],
    ['a list is longer than what is left', listOf(2 ** 25)],
    ['its lists are nested too deeply', [0x19, ...Array<number>(100).fill(0x19), 0]],
    ['its structs are nested too deeply', Array<number>(100).fill(0x1c)],
    ['a number does not end', [0x15, ...Array<number>(20).fill(0x80), 0]],
    ['it has a value of the unknown type 11', [0x1b, 0]],
    ['it ends too early', [0x18, 5, 1, 2, 3]],
    ['it ends too early', [0x17, 5, 1, 2, 3]],
    ['it has not what the metadata of a Parquet file has', [0]],
    ['it has too many values', [0x19, 0xf3, ...varint(2 ** 23 + 1), ...Array<number>(2 ** 23 + 1).fill(0), 0]],
  ])('%s', async (message, metadata) => {
    expect(await refusal(footerOf(wrapped([], metadata)))).toBe(`f: its footer cannot be read: ${message}`);
  });

  test.each<[string, Crafted]>([
    ['its footer cannot be read: row group 0 has 0 columns', { pages: [], file: { 4: [{ 1: [], 2: 0n, 3: 0n }] } }],
    ['its footer cannot be read: it says 3 rows, its row groups have 0', { pages: [], file: { 3: 3n } }],
    ['its row group 0 has -1 rows, not up to 8388608', { pages: [], rows: -1n }],
    ['its row group 0 has 9223372036854775807 rows, not up to 8388608', { pages: [], rows: 2n ** 63n - 1n }],
    ['its footer cannot be read: its schema ends too early', { pages: [], schema: [{ 4: 'root', 5: 2 ** 30 }] }],
    [
      'its footer cannot be read: its schema has elements outside of it',
      { pages: [], schema: [{ 4: 'root', 5: 0 }, { 4: 'x' }] },
    ],
    ['its footer cannot be read: values of x cannot have 0 bytes', { pages: [], type: 'fixed' }],
    [
      'its footer cannot be read: its schema is nested too deeply',
      { pages: [], schema: Array.from({ length: 100 }, () => ({ 3: 0, 4: 'a', 5: 1 })) },
    ],
  ])('%s', async (message, crafted) => {
    expect(await refusal(footerOf(craftedFile(crafted)))).toBe(`f: ${message}`);
  });
});

describe('columns', () => {
  const NAMES = 'row group 0, column x';

  test.each<[string, Crafted]>([
    ['it cannot have 4 values in 5 rows', { pages: [five], values: 4n, rows: 5n }],
    ['it cannot have 6 values in 5 rows', { pages: [five], values: 6n, rows: 5n }],
    ['it has 536870913 bytes, not up to 536870912', { pages: [five], column: { 7: 2n ** 29n + 1n } }],
    ['it has -1 bytes, not up to 536870912', { pages: [five], column: { 7: -1n } }],
    ['it ends behind the end of the file', { pages: [five], column: { 7: 1000n } }],
    ['it ends behind the end of the file', { pages: [five], column: { 9: 2n ** 62n } }],
    ['its compression LZO cannot be read', { pages: [five], codec: 3 }],
    ['y of type INT32 is in its place', { pages: [five], column: { 3: ['y'] } }],
    ['x of type DOUBLE is in its place', { pages: [five], column: { 1: 5 } }],
    ['it is in another file', { pages: [five], chunk: { 1: 'other' } }],
    ['it is encrypted', { pages: [five], chunk: { 8: {} } }],
  ])('%s', async (message, crafted) => {
    expect(await refused(crafted)).toBe(`f: ${NAMES}: ${message}`);
  });

  test('the file ends while it is read', async () => {
    const bytes = craftedFile({ pages: [five] });
    const footer = await footerOf(bytes);
    const work = readColumn(footer, 0, leafNamed(footer, 'x'), readOf(bytes.subarray(0, 10)));
    expect(await refusal(work)).toBe(`f: ${NAMES}: the file ends within it`);
  });
});

describe('pages', () => {
  const dictionary = { kind: 'dictionary', values: 2, body: u32(7, 8) } as const;
  /** One run of five times that index, of 8 bits. */
  const index = (value: number) =>
    ({ kind: 'v1', values: 5, encoding: ENCODING.byIndex, body: [8, 10, value] }) as const;
  const optional = { repetition: REPETITION.optional };
  const page = (body: readonly number[], encoding: number, values = 5): Crafted => ({
    pages: [{ kind: 'v1', values, body, encoding }],
  });
  const text = (crafted: Crafted): Crafted => ({ ...crafted, type: 'bytes' });
  /** Deltas that are all the same, in blocks of 128: nothing is packed. */
  const deltas = (first: number, delta: number, count: number): number[] => [
    ...[...varint(128), ...varint(4), ...varint(count), ...zigzag(first)],
    ...Array.from({ length: Math.ceil((count - 1) / 128) }, () => [...zigzag(delta), 0, 0, 0, 0]).flat(),
  ];

  test('what the refused ones are made of is read', async () => {
    expect(await columnOf(craftedFile({ pages: [dictionary, index(1)] }), 'x')).toEqual([8, 8, 8, 8, 8]);
    expect(await columnOf(craftedFile(page(deltas(3, 2, 5), ENCODING.delta)), 'x')).toEqual([3, 5, 7, 9, 11]);
    const prefixed = [...deltas(0, 1, 3), ...deltas(1, 0, 3), ...Buffer.from('abc')];
    const texts = craftedFile(text(page(prefixed, ENCODING.deltaText, 3)));
    expect(await columnOf(texts, 'x')).toEqual(['a', 'ab', 'abc']);
    const indexed = craftedFile({ pages: [{ kind: 'index', values: 0, body: [] }, five] });
    expect(await columnOf(indexed, 'x')).toEqual([1, 2, 3, 4, 5]);
  });

  test.each<[string, number, Crafted]>([
    ['it has the index 2 of a dictionary of 2 values', 31, { pages: [dictionary, index(2)] }],
    ['it has indexes of a dictionary, which the column lacks', 4, { pages: [index(0)] }],
    ['its dictionary is not the first page', 49, { pages: [five, dictionary, five] }],
    ['it cannot have 1000 values in 8 bytes', 4, { pages: [{ ...dictionary, values: 1000 }, index(0)] }],
    ['the column ends before this page, and has too few values', 49, { pages: [five], values: 10n }],
    ['up to it there are 10 values, and the column has 7', 49, { pages: [five, five], values: 7n }],
    ['it cannot have -5 values', 4, { pages: [{ ...five, values: -5 }], values: 5n }],
    ['it cannot have -1 bytes', 4, { pages: [{ ...five, header: { 2: -1 } }] }],
    ['its header does not say how many bytes', 4, { pages: [{ ...five, header: { 3: 'x' } }] }],
    ['it has 100 bytes, more than are left of the column', 4, { pages: [{ ...five, header: { 3: 100 } }] }],
    [
      'its column has more than 536870912 bytes up to this page',
      4,
      { pages: [{ ...five, header: { 2: 2 ** 29 + 1 } }] },
    ],
    ['it has 20 bytes, and its header says 21', 4, { pages: [{ ...five, header: { 2: 21 } }] }],
    ['its SNAPPY data has 1 bytes, and its header says 20', 4, { pages: [five], codec: 1 }],
    ['it is of an unknown kind', 4, { pages: [{ ...five, header: { 1: 9 } }] }],
    ['it is of an unknown kind', 4, { pages: [{ ...five, header: { 1: 3 } }] }],
    ['its check sum differs', 4, { pages: [{ ...five, header: { 4: 12345 } }] }],
    [
      'its levels are longer than it is',
      4,
      { pages: [{ ...five, kind: 'v2', header: { 8: { 1: 5, 2: 0, 3: 5, 4: 0, 5: 20, 6: 1 } } }] },
    ],
    ['it has 16 bytes of values, and needs 20', 4, page(u32(1, 2, 3, 4), ENCODING.plain)],
    ['it has 20 bytes of values, and needs 24', 4, page(u32(1, 2, 3, 4, 5), ENCODING.split, 6)],
    ['its encoding DELTA_LENGTH_BYTE_ARRAY cannot be read', 4, page(u32(1), ENCODING.deltaLength, 1)],
    ['it has 6 integers, not 5', 4, page(deltas(3, 2, 6), ENCODING.delta)],
    ['its blocks of integers are of an impossible size', 4, page([...varint(128), 0, 5, 0], ENCODING.delta)],
    ['its blocks of integers are of an impossible size', 4, page([...varint(12), 4, 5, 0], ENCODING.delta)],
    ['a difference cannot have 65 bits', 4, page([...varint(128), 4, 5, 0, 0, 65, 0, 0, 0], ENCODING.delta)],
    ['its integers are cut off', 4, page([...varint(128), 4, 5, 0, 0, 9, 0, 0, 0], ENCODING.delta)],
    ['it has 1 of 2 values', 4, text(page([...u32(1), 97], ENCODING.plain, 2))],
    ['value 0 is longer than what is left', 4, text(page([...u32(0xffff_ffff), 97], ENCODING.plain, 1))],
    ['value 1 is longer than what is left', 4, text(page([...deltas(3, -4, 2), 97, 97, 97], ENCODING.deltaLength, 2))],
    [
      'value 0 is longer than what it is made of',
      4,
      text(page([...deltas(1, 0, 1), ...deltas(0, 0, 1)], ENCODING.deltaText, 1)),
    ],
    [
      'its levels have the old encoding BIT_PACKED, which cannot be read',
      4,
      { pages: [{ ...five, header: { 5: { 1: 5, 2: 0, 3: 4, 4: 3 } } }] },
    ],
    ['a part of it cannot have 99 bytes', 4, { ...optional, pages: [{ ...five, body: [...u32(99), 1, 1] }] }],
    ['it has 4 of 5 levels or indexes', 4, { ...optional, pages: [{ ...five, body: [...u32(2), 8, 1] }] }],
    ['an integer does not fit into 1 bits', 4, { ...optional, pages: [{ ...five, body: [...u32(2), 10, 2] }] }],
  ])('%s, at byte %d', async (message, at, crafted) => {
    expect(await refused(crafted)).toBe(`f: row group 0, column x, page at byte ${at}: ${message}`);
  });

  test('texts that would take gigabytes are refused before they are made', async () => {
    const count = 4096;
    const body = [
      // A text of 256 KiB, and 4,095 times the same.
      ...[...varint(8192), ...varint(1), ...varint(count), ...zigzag(0), ...zigzag(0), 32],
      ...[...u32(2 ** 18), ...Array<number>(4 * 8191).fill(0)],
      ...[...varint(8192), ...varint(1), ...varint(count), ...zigzag(2 ** 18), ...zigzag(-(2 ** 18)), 32],
      ...[...u32(0), ...u32(...Array<number>(8191).fill(2 ** 18))],
      ...Array<number>(2 ** 18).fill(97),
    ];
    expect(await refused(text(page(body, ENCODING.deltaText, count)))).toMatch(
      /its column has more than 536870912 bytes$/,
    );
  });
});

describe('lists', () => {
  const list = (repetitions: readonly number[], definitions: readonly number[], rows: bigint): Crafted => {
    const runs = [...repetitions.flatMap((level) => [2, level])];
    const defined = [...definitions.flatMap((level) => [2, level])];
    const values = definitions.filter((level) => level === 1);
    const body = [...u32(runs.length), ...runs, ...u32(defined.length), ...defined, ...u32(...values)];
    return { pages: [{ kind: 'v1', values: definitions.length, body }], rows, repetition: REPETITION.repeated };
  };

  test('a field that repeats is one', async () => {
    expect(await columnOf(craftedFile(list([0, 1, 0, 0], [1, 1, 0, 1], 3n)), 'x')).toEqual([[1, 1], [], [1]]);
  });

  test.each<[string, Crafted]>([
    ['it begins within a row', list([1, 0], [1, 1], 1n)],
    ['it begins row 1 of 1', list([0, 0], [1, 1], 1n)],
    ['an empty list has more than one element', list([0, 1], [1, 0], 1n)],
  ])('%s', async (message, crafted) => {
    expect(await refused(crafted)).toBe(`f: row group 0, column x, page at byte 4: ${message}`);
  });

  test('fewer rows than the row group has', async () => {
    expect(await refused(list([0, 1], [1, 1], 2n))).toBe('f: row group 0, column x: it has 1 rows, its row group 2');
  });
});

describe('columns that cannot be had', () => {
  test.each([
    ['f has no column other', 'other'],
    ['f: column map.key_value.key cannot be read: it is of a map', 'map'],
    ['f: column lists.list.element.list.element cannot be read: it is of a list of lists', 'lists'],
    ['f: column structs.list.element.a cannot be read: it is of a list of structs', 'structs'],
  ])('%s', async (message, name) => {
    expect(await refusal(columnOf(fileBytes('nested-v1'), name))).toBe(message);
  });

  test('the same name twice', async () => {
    const schema = [
      { 4: 'root', 5: 2 },
      { 1: 1, 3: 0, 4: 'x' },
      { 1: 1, 3: 0, 4: 'x' },
    ];
    const file = craftedFile({ pages: [], schema, file: { 4: [] } });
    expect(await refusal(columnOf(file, 'x'))).toBe('f: it has two columns named x');
  });

  test.each([
    ['it is an interval', { 1: 7, 2: 12, 3: 0, 4: 'x', 6: 21 }],
    ['it is of an unknown type', { 3: 0, 4: 'x' }],
  ])('%s', async (reason, element) => {
    const file = craftedFile({ pages: [], schema: [{ 4: 'root', 5: 1 }, element], file: { 4: [] } });
    expect(await refusal(columnOf(file, 'x'))).toBe(`f: column x cannot be read: ${reason}`);
  });
});

describe('garbage', () => {
  const FILES = [
    'types-v1-plain',
    'types-v1-dictionary',
    'types-v2-plain',
    'types-v2-dictionary',
    'nested-v2-plain',
    'many-encodings',
  ];

  /** All columns, as far as they can be read. */
  async function readAll(bytes: Uint8Array): Promise<void> {
    const footer = await footerOf(bytes);
    for (const { name } of footer.leaves) await columnOf(bytes, name).catch(expectRefusal);
  }

  function expectRefusal(error: unknown): void {
    if (!isPaddletError(error, 'DataInvalid')) throw error;
  }

  test('files with some other bytes are read or refused', async () => {
    const change = properties.record({
      where: properties.double({ min: 0, max: 0.999_999, noNaN: true }),
      isFooter: properties.boolean(),
      byte: properties.integer({ min: 0, max: 255 }),
    });
    await properties.assert(
      properties.asyncProperty(
        properties.constantFrom(...FILES),
        properties.array(change, { minLength: 1, maxLength: 4 }),
        async (name, changes) => {
          const bytes = fileBytes(name);
          const footer = bytes.readUInt32LE(bytes.length - 8) + 8;
          for (const { where, isFooter, byte } of changes) {
            const from = isFooter ? bytes.length - footer : 0;
            bytes[from + Math.floor(where * (bytes.length - from))] = byte;
          }
          await readAll(bytes).catch(expectRefusal);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('no bytes between the magic are believed', async () => {
    await properties.assert(
      properties.asyncProperty(properties.uint8Array({ maxLength: 2000 }), async (metadata) => {
        await readAll(wrapped([], [...metadata])).catch(expectRefusal);
      }),
      { numRuns: 400 },
    );
  });
});

test('bytes of thrift as its documents have them', () => {
  expect(encoded({ 1: 1, 2: 'a' })).toEqual([5, 2, 2, 8, 4, 1, 97, 0]);
});
