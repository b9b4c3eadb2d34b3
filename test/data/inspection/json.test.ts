/** What a look at JSON lines says of their keys. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import { compareTables } from '../../../src/data/inspection/compare.ts';
import { JsonShape } from '../../../src/data/inspection/json-shape.ts';
import { type AnyLookOptions, type Look, lookAt } from '../../../src/data/inspection/look.ts';
import { typeOf } from '../../../src/data/inspection/types.ts';
import { chunkOf } from '../bytes/packings/recordio/recordio.ts';
import { testPlace } from '../place.ts';

const place = testPlace();

type Table = Extract<Look, { kind: 'table' }>;
async function look(content: string | Uint8Array, options: AnyLookOptions = {}, name = 'file'): Promise<Table> {
  writeFileSync(join(place.folder, name), content);
  const found = await lookAt(place, name, options);
  if (found.kind !== 'table') throw new Error(`found ${found.kind}`);
  return found;
}

/** Of each column its name, what it is stored as, and its type or why it is unreadable. */
const shown = ({ columns }: Table): Record<string, string> =>
  Object.fromEntries(
    columns.map((facts) => [facts.name, `${facts.stored}: ${facts.unreadable ?? typeOf(facts).type}`]),
  );
const lines = (count: number, of: (at: number) => object | string): string =>
  Array.from({ length: count }, (_, at) => of(at))
    .map((record) => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`)
    .join('');

describe('columns', () => {
  test('are keys in the order in which they come, nested ones by their paths, with the types of tables', async () => {
    const found = await look(
      lines(40, (at) => ({
        clicked: at % 4 === 0,
        user: at % 5 === 0 ? null : { age: at % 3 === 0 ? null : 20.5 + at, home: { town: ['Oslo', 'Rome'][at % 2] } },
        tags: [['a', 1], [null, 'b', ''], []][at % 3],
        at: `2024-01-${10 + (at % 20)}`,
        ...(at > 0 && { late: at % 3 }),
      })),
    );
    expect(found.form).toEqual({ format: 'jsonl' });
    expect(shown(found)).toEqual({
      clicked: 'boolean: category',
      'user.age': 'number: number',
      'user.home.town': 'text: category',
      tags: 'array: categories',
      at: 'text: time',
      late: 'number: category',
    });
    expect(found.label).toEqual({ column: 0, why: 'by its name' });
    const [, age, town, tags] = found.columns;
    expect([age?.empty, town?.empty, town?.path, tags?.path]).toEqual([19, 8, 'user.home.town', undefined]);
    expect(tags?.top).toEqual([
      { text: 'a|1', count: 14 },
      { text: 'b', count: 13 },
    ]);
  });

  test('keep all digits of whole numbers, and have the texts by which values are ids', async () => {
    const text =
      '{"id": 9007199254740993, "x": 1e3}\n{"id": 9007199254740992, "x": 1.50}\n{"id": "9007199254740993"}\n';
    const { columns } = await look(text);
    expect(columns.map(({ top, stored }) => [stored, ...top.map((value) => `${value.text} ${value.count}`)])).toEqual([
      ['number, text', '9007199254740993 2', '9007199254740992 1'],
      ['number', '1.5 1', '1000 1'],
    ]);
  });

  test('cannot be read where no column of a job can have their values', async () => {
    const long = 'k'.repeat(LIMITS.columnNameCharacters + 1);
    const deep = Array.from({ length: LIMITS.pathKeys }).reduce<unknown>((inside) => ({ d: inside }), 1);
    const found = await look(
      lines(4, (at) => ({
        ...{ half: at === 2 ? 'text' : { x: 1 }, arrays: at === 1 ? [[1]] : [1], objects: [{ x: 1 }], none: {} },
        ...{ a: { 'b.c': 1, '': 2 }, 'b.c': 3, deep, [long]: 1 },
      })),
    );
    expect(shown(found)).toEqual({
      half: 'object, text: only some of its values are objects',
      arrays: 'array, array: its arrays have arrays or objects',
      objects: 'array: its arrays have arrays or objects',
      none: 'object: its objects have no keys',
      'a.b.c': 'number: no path has a key with a dot',
      'a.': 'number: no path has an empty key',
      'b.c': 'number: ignore',
      [`deep${'.d'.repeat(LIMITS.pathKeys - 1)}`]: 'object: its path has more than 16 keys',
      [long.slice(1)]: 'number: its path has more than 1024 characters',
    });
    expect(found.records).toBe(4);
    await expect(
      look(
        lines(2, () => ({ x: [1], y: 1 })),
        { label: 'x' },
      ),
    ).rejects.toThrow('column x of file cannot be the label: its values are lists');
    await expect(
      look(
        lines(2, () => ({ x: [[]], y: 1 })),
        { label: 'x' },
      ),
    ).rejects.toThrow('arrays or objects');
  });

  test('have names of their own where a key looks like a path', async () => {
    const found = await look(lines(9, (at) => ({ u: { x: at }, 'u.x': at * 1.5, 'u.x_': 1 })));
    expect(found.columns.map(({ name, path }) => [name, path])).toEqual([
      ['u.x__', 'u.x'],
      ['u.x', undefined],
      ['u.x_', undefined],
    ]);
  });

  test('may be the label by a path, named or guessed', async () => {
    const text = lines(40, (at) => ({ event: { clicked: at % 2, x: at / 3 } }));
    expect((await look(text)).label).toEqual({ column: 0, why: 'by its name' });
    expect((await look(text, { label: 'event.x' })).label).toEqual({ column: 1, why: 'as you say' });
    await expect(look(text, { label: 'x' })).rejects.toThrow('file does not have a column x');
  });

  test('are no more than a job may have; what only later records have is told of', async () => {
    const many = Object.fromEntries(Array.from({ length: LIMITS.columns + 1 }, (_, at) => [`k${at}`, true]));
    const wide = new JsonShape();
    wide.learn(many);
    wide.settle();
    expect([wide.columns.length, wide.unlisted]).toEqual([LIMITS.columns, [`k${LIMITS.columns}`]]);
    const late = await look(
      lines(1005, (at) => (at < 1002 ? { x: at, u: { v: 1 } } : { x: at, y: 1, u: { v: 1, w: 2 } })),
    );
    expect([Object.keys(shown(late)), late.unlisted, late.bad.records]).toEqual([['x', 'u.v'], ['y', 'u.w'], 0]);
  });
});

describe('records', () => {
  const rows = lines(30, (at) => ({ x: at / 2, label: at % 2 }));

  test('that are bad are counted, with their lines', async () => {
    const bad = ['[1]', 'nope', '{"x": [1], "label": 1}', '{"x": {"y": 1}}', '{"x": "\\ud83d"}', '{"x": 1e999}'];
    const found = await look(`\ufeff${rows}\r\n  \n${bad.map((line) => `${line}\n`).join('')}{"x": 7}`);
    // The first ones say that no value of x is an array.
    expect(shown(await look(rows))).toEqual({ x: 'number: number', label: 'number: category' });
    expect(found.records + found.bad.records).toBe(37);
    const late = await look(lines(1000, () => ({ x: 1 })) + bad.map((line) => `${line}\n`).join(''));
    expect(late.bad.records).toBe(6);
    expect(late.bad.first.map(({ line }) => line)).toEqual([1001, 1002, 1003, 1004, 1005]);
  });

  test('are the first ones only, where that is wanted', async () => {
    const { records, isWhole } = await look(rows, { records: 7 });
    expect([records, isWhole]).toEqual([7, false]);
  });

  test('may be packed as gzip or RecordIO', async () => {
    const plain = await look(rows);
    const gzip = await look(gzipSync(rows));
    const recordio = await look(chunkOf(rows.trimEnd().split('\n'), 'snappy'));
    for (const other of [gzip, recordio]) expect(other.columns).toEqual(plain.columns);
  });

  test('are compared with those of CSV by name', async () => {
    const csv = ['label,x,z', ...Array.from({ length: 30 }, (_, at) => `${at % 2},${at / 3},1`)].join('\n');
    const first = await look(csv, {}, 'first.csv');
    const second = await look(rows, { first });
    expect(compareTables(first, second)).toMatchObject({
      columns: [{ name: 'x', ranges: { first: [0, 29 / 3], second: [0, 14.5] } }],
      compared: 2,
      onlyFirst: ['z'],
      onlySecond: [],
    });
  });

  test.each([
    ['{"a": 1}\n{"a": 2}\n[3]\n', undefined],
    ['[1, 2]\n[3, 4]\n', 'file has an array on each line'],
    ['[{"a": 1},\n {"a": 2}]\n', 'file is one JSON array'],
    ['{"a": 1,\n "b": 2}\n', 'file is JSON with records over several lines'],
    ['{}\n{}\n', 'none of the first lines is a JSON object with keys'],
    ['{nope}\n{nope}\n', 'none of the first lines is a JSON object with keys'],
  ])('of another form are an error: %j', async (text, message) => {
    if (message === undefined) expect((await look(text)).bad.records).toBe(1);
    else await expect(look(text)).rejects.toThrow(message);
  });
});
