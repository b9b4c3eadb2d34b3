/** What a look at a Parquet file says of its columns. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import { type AnyLookOptions, type Look, lookAt } from '../../../src/data/inspection/look.ts';
import { typeOf } from '../../../src/data/inspection/types.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { fileBytes, footerOf } from '../formats/parquet/shown.ts';
import { type TestPlace, testPlace } from '../place.ts';

type Table = Extract<Look, { kind: 'table' }>;
async function look(content: Uint8Array, options: AnyLookOptions = {}, place: TestPlace = testPlace()): Promise<Table> {
  writeFileSync(join(place.folder, 'file'), content);
  const found = await lookAt(place, 'file', options);
  if (found.kind !== 'table') throw new Error(`found ${found.kind}`);
  return found;
}

const shown = ({ columns }: Table): Record<string, string> =>
  Object.fromEntries(
    columns.map((facts) => [facts.name, `${facts.stored}: ${facts.unreadable ?? typeOf(facts).type}`]),
  );

const ROWS = 300;
const range = Array.from({ length: ROWS }, (_, at) => at);
const rows = Buffer.from(
  parquetWriteBuffer({
    columnData: [
      { name: 'x', type: 'DOUBLE', data: range.map((at) => (at % 3 === 0 ? null : at / 4)), nullable: true },
      { name: 'town', type: 'STRING', data: range.map((at) => ['Oslo', 'Zürich'][at % 2]!) },
      { name: 'paid', type: 'STRING', data: range.map((at) => (at % 4 === 0 ? 'paid' : 'open')) },
      { name: 'clicked', type: 'BOOLEAN', data: range.map((at) => at % 4 === 0) },
    ],
    rowGroupSize: 100,
  }),
);

describe('columns', () => {
  test('are those of the schema, with the types of tables; the label tells of leaks over row groups', async () => {
    const found = await look(rows);
    expect(found.form).toEqual({ format: 'parquet', rowGroups: 3 });
    expect(shown(found)).toEqual({
      x: 'DOUBLE: number',
      town: 'string: category',
      paid: 'string: category',
      clicked: 'boolean: category',
    });
    expect(found).toMatchObject({ records: ROWS, isWhole: true, label: { column: 3 }, leaks: ['paid'] });
    expect(found.bad.records).toBe(0);
    const [x, town] = found.columns;
    expect([x?.empty, x?.numbers?.max, town?.top[0]]).toEqual([100, 299 / 4, { text: 'Oslo', count: 150 }]);
  });

  test('may be within structs, and lists; maps and lists of other things cannot be read', async () => {
    const found = await look(fileBytes('nested-v1'));
    expect(shown(found)).toMatchObject({
      tags: 'list of string: categories',
      'who.age': 'INT32: number',
      'deep.list': 'list of INT32: categories',
      'map.key_value.key': 'BYTE_ARRAY: it is of a map',
      'structs.list.element.a': 'INT32: it is of a list of structs',
    });
    expect(found.columns.map(({ path }) => path).slice(0, 5)).toEqual([
      ...[undefined, undefined, 'who.age', 'who.name', 'deep.list'],
    ]);
    expect(found.columns[1]?.top.map(({ text }) => text)).toContain('a|b');
  });

  test('have values of all types, as the texts by which they are ids', async () => {
    const { columns } = await look(fileBytes('types-v2-dictionary'));
    const stored = Object.fromEntries(
      columns.map((facts) => [facts.name, `${facts.stored} ${facts.top.at(-1)?.text}`]),
    );
    expect(stored).toMatchObject({
      ...{ u64: 'UINT64 9223372036854775808', u8: 'UINT32 3', f16: 'FLOAT16 65504', flag: 'boolean false' },
    });
    const times = columns.filter((facts) => typeOf(facts).type === 'time').map(({ name }) => name);
    expect(times).toEqual(['day', 'ms', 'us', 'ns']);
  });
});

describe('reading', () => {
  test('of the first rows decodes only the row groups that have them', async () => {
    const second = (await footerOf(rows)).groups[1]!.chunks[0]!.meta_data!;
    const begins = Number(second.dictionary_page_offset ?? second.data_page_offset);
    const damaged = Buffer.from(rows).fill(0xff, begins, begins + 8);
    await expect(look(damaged)).rejects.toThrow('row group 1');
    const { records, isWhole } = await look(damaged, { records: 100 });
    expect([records, isWhole]).toEqual([100, false]);
    expect((await look(rows, { records: 150 })).records).toBe(150);
    expect(await look(rows, { records: ROWS })).toMatchObject({ records: ROWS, isWhole: true });
  });

  test('leaves nothing in the cache; a packed file is unpacked there', async () => {
    const place = testPlace();
    await look(rows, {}, place);
    expect(existsSync(place.cacheFolder)).toBe(false);
    expect((await look(gzipSync(rows), {}, place)).records).toBe(ROWS);
    expect(readdirSync(place.cacheFolder)).toEqual(['inflated']);
  });

  test('needs no line break in the first bytes, and no more than one column at a time', async () => {
    const zeros = new Float64Array(1 << 18);
    const columnData = ['x', 'y'].map((name) => ({
      name,
      type: 'DOUBLE' as const,
      data: zeros,
      encoding: 'PLAIN' as const,
    }));
    const large = Buffer.from(parquetWriteBuffer({ columnData, codec: 'UNCOMPRESSED' }));
    expect(large.subarray(0, 1 << 20).includes('\n')).toBe(false);
    let most = 0;
    const disk = createDisk();
    const place = testPlace({
      disk: {
        async open(path) {
          const file = await disk.open(path);
          return Object.assign(Object.create(file), {
            read: (into: Uint8Array, at: number) => {
              most = Math.max(most, into.length);
              return file.read(into, at);
            },
          });
        },
      },
    });
    expect((await look(large, { records: 10 }, place)).records).toBe(10);
    expect(most).toBeLessThan(0.6 * large.length);
  });

  test('of no rows is an error', async () => {
    await expect(look(fileBytes('empty'))).rejects.toThrow('file has no records');
    await expect(look(fileBytes('no-columns'))).rejects.toThrow('file has no records');
  });
});
