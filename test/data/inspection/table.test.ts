/** What a look at a table says of its columns. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { compareTables } from '../../../src/data/inspection/compare.ts';
import { slotOf } from '../../../src/data/inspection/histogram.ts';
import { labelColumns, positiveOf } from '../../../src/data/inspection/label.ts';
import { type Look, lookAt } from '../../../src/data/inspection/look.ts';
import type { LookOptions, TableLook } from '../../../src/data/inspection/table.ts';
import { isOfFields } from '../../../src/data/inspection/table-source.ts';
import { typeOf } from '../../../src/data/inspection/types.ts';
import { isRealDataMissing, REAL_DATA, testPlace } from '../place.ts';

const place = testPlace();

async function look(text: string | Uint8Array, options: LookOptions = {}, name = 'file.csv'): Promise<TableLook> {
  writeFileSync(join(place.folder, name), text);
  const { first, ...rest } = options;
  const found: Look = await lookAt(place, name, { ...rest, first: first && { kind: 'table', ...first } });
  if (found.kind !== 'table') throw new Error(`found ${found.kind}`);
  return found;
}

/** A file with a column of these texts, a number and a label. */
const tableOf = (column: string, texts: readonly string[]): string =>
  [`${column},amount,label`, ...texts.map((text, at) => `${text},${at / 4},${at % 3 === 0 ? 1 : 0}`)].join('\n');

const repeat = (count: number, of: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => of(at));

async function typed(column: string, texts: readonly string[]) {
  const { columns } = await look(tableOf(column, texts));
  return { facts: columns[0]!, ...typeOf(columns[0]!) };
}

/** MovieLens writes ratings so. */
const ratings = repeat(600, (at) => `${1 + (at % 90)}::${1 + (at % 7)}::${1 + (at % 5)}::${978_300_760 + 60 * at}`);

describe('interactions', () => {
  const types = ({ columns }: TableLook) => columns.map((facts) => [facts.name, facts.hasName, typeOf(facts).type]);

  test('begin with a user and an item; then a rating and a time are seen', async () => {
    const found = await look(ratings.join('\n'));
    expect(found).toMatchObject({
      form: { format: 'interactions', delimiter: '::', quote: null, header: false },
      label: { column: 2, why: 'a column after user and item, with 5 values' },
      records: 600,
      bad: { records: 0 },
    });
    expect(types(found)).toEqual([
      ['user', false, 'category'],
      ['item', false, 'category'],
      ['c3', false, 'category'],
      ['c4', false, 'time'],
    ]);
    expect(found.columns.map(({ isId }) => isId)).toEqual([true, true, undefined, undefined]);
  });

  test.each(['\t', ',', ' '])('of numbers alone are known by the time at the end of %j', async (delimiter) => {
    const formOf = async (lines: readonly string[]) =>
      (await look(lines.map((line) => line.replaceAll('::', delimiter)).join('\n'))).form;
    const form = { format: 'interactions', delimiter, quote: null, header: false };
    expect(await formOf(ratings)).toMatchObject(form);
    expect(await formOf(ratings.map((line) => line.replace(/::\d(?=::\d+$)/, '')))).toMatchObject(form);
    const table = { format: delimiter === '\t' ? 'tsv' : 'csv' };
    for (const other of [
      ['who::what::stars::at', ...ratings],
      ratings.map((line) => `a${line}`),
      ratings.map((line) => `${line}::1`),
      ratings.map((line) => line.replace(/\d+$/, '7')),
    ]) {
      expect(await formOf(other)).toMatchObject(table);
    }
  });

  test('are called by a header', async () => {
    const found = await look(['who::what::stars::at', ...ratings].join('\n'));
    expect(found).toMatchObject({ form: { header: true }, records: 600 });
    expect(types(found).map(([name]) => name)).toEqual(['who', 'what', 'stars', 'at']);
    expect(typeOf(found.columns[0]!).type).toBe('category');
  });

  test('have the columns that nearly all lines have; more fields are not read, fewer are bad', async () => {
    const found = await look(['1::2::3', ...ratings, '1::2::3::978300760::x'].join('\n'));
    expect(found).toMatchObject({
      records: 601,
      bad: { records: 1, first: [{ line: 1, reason: expect.stringContaining('fields, expected at least') }] },
      unlisted: ['c5'],
    });
    expect(found.columns).toHaveLength(4);
    const ragged = await look(ratings.map((line, at) => (at % 4 === 0 ? line.replace(/::\d+$/, '') : line)).join('\n'));
    expect(ragged).toMatchObject({ records: 600, bad: { records: 0 }, unlisted: ['c4'] });
    expect(ragged.columns).toHaveLength(3);
  });

  test('that are not read decide nothing', async () => {
    const found = await look(`1::2::3.5::1,5\n${repeat(60, (at) => `${at % 9}::${at % 7}::${at / 2}.5`).join('\n')}`);
    expect(found).toMatchObject({ form: { decimal: '.', header: false }, unlisted: ['c4'] });
    const named = await look(['who::what::stars', ...ratings].join('\n'));
    expect(named).toMatchObject({ form: { header: true }, records: 600, unlisted: ['c4'] });
    expect(named.columns).toHaveLength(3);
  });

  test.each([
    ['alone', (at: number) => `${at % 9}::${at % 2}`],
    ['with a time', (at: number) => `${at % 9}::${at % 2}::${978_300_760 + at}`],
  ])('%s have no label', async (_what, lineAt) => {
    const { label, columns } = await look(repeat(600, lineAt).join('\n'));
    expect(label).toBeUndefined();
    expect(labelColumns(columns)).toEqual([]);
  });

  test('explain no label, however few there are', async () => {
    const { leaks } = await look(repeat(600, (at) => `${at % 9}::${at % 7}::${at % 9 < 4 ? 1 : 0}`).join('\n'));
    expect(leaks).toEqual([]);
  });
});

describe('types of columns', () => {
  test.each([
    ['numbers', 'x', repeat(200, (at) => `${at * 1.5}`), 'number', 'numbers'],
    ['few whole numbers', 'x', repeat(200, (at) => `${at % 12}`), 'category', '12 different whole numbers'],
    ['more whole numbers', 'x', repeat(200, (at) => `${at % 40}`), 'number', 'numbers'],
    ['few fractions', 'x', repeat(200, (at) => `${(at % 3) / 2}`), 'number', 'numbers'],
    ['few records', 'x', ['1', '2', '3'], 'number', 'numbers'],
    ['codes', 'x', repeat(200, (at) => `0${at % 90}7`), 'category', 'codes: some begin with 0'],
    ['codes by name', 'zip_code', repeat(200, (at) => `${1000 + (at % 60)}`), 'category', 'by its name ids or codes'],
    ['a running number', 'x', repeat(200, (at) => `${7 + at}`), 'ignore', 'each record has its own number'],
    [
      'ids in any order',
      'user_id',
      repeat(200, (at) => `${(at * 37) % 211}`),
      'ignore',
      'each record has its own number',
    ],
    ['ids that come again', 'user_id', repeat(200, (at) => `${at % 50}`), 'category', 'by its name ids or codes'],
    ['texts', 'x', repeat(200, (at) => ['red', 'blue'][at % 2]!), 'category', 'texts'],
    ['a text each', 'x', repeat(200, (at) => `user-${at}`), 'ignore', 'nearly every record has its own text'],
    ['one value', 'x', repeat(200, () => 'same'), 'ignore', 'all values are the same'],
    ['one value or none', 'x', repeat(200, (at) => (at % 2 === 0 ? 'yes' : '')), 'category', 'texts'],
    ['no value', 'x', repeat(200, () => ''), 'ignore', 'no record has a value'],
    [
      'numbers and texts',
      'x',
      repeat(200, (at) => (at % 5 === 0 ? 'high' : `${at % 30}.5`)),
      'category',
      '40 texts such',
    ],
    [
      'numbers and a text',
      'x',
      repeat(200, (at) => (at === 9 ? '1O' : `${at}`)),
      'number',
      'except 1 texts such as "1O"',
    ],
    ['lists', 'x', repeat(200, (at) => `${['a|b', 'b', 'a|c|d', 'c|b'][at % 4]!}|z`), 'categories', 'separated by "|"'],
    ['iso times', 'x', repeat(40, (at) => `2024-01-${10 + (at % 20)}T10:00:00Z`), 'time', 'times of format iso'],
    ['days', 'x', repeat(40, (at) => `${10 + (at % 20)}/12/2024`), 'time', 'times of format dd/MM/yyyy'],
    ['seconds', 'created_at', repeat(40, (at) => `${1_700_000_000 + 60 * at}`), 'time', 'times of format unix'],
    ['large numbers', 'x', repeat(40, (at) => `${1_700_000_000 + 61 * ((at * 7) % 40)}`), 'number', 'numbers'],
    ['skewed numbers', 'x', repeat(400, (at) => (at === 7 ? '99999' : `${at % 30}`)), 'number', 'close together'],
  ])('%s', async (_what, name, texts, type, why) => {
    const found = await typed(name, texts);
    expect([found.type, found.why]).toEqual([type, expect.stringContaining(why)]);
  });

  test('texts that mean that there is no value are none, where they stand among values', async () => {
    const numbers = await typed(
      'x',
      repeat(200, (at) => (at % 10 === 0 ? '-' : at % 10 === 1 ? '' : `${at}.5`)),
    );
    expect(numbers).toMatchObject({ type: 'number', missing: 40, missingTexts: [{ text: '-', count: 20 }] });
    const texts = await typed(
      'x',
      repeat(200, (at) => ['-', '+', '?', 'NA'][at % 4]!),
    );
    expect(texts).toMatchObject({ type: 'category', missing: 100, distinct: 2 });
    expect(texts.top.map(({ text }) => text).sort()).toEqual(['+', '-']);
  });

  test('numbers have range, mean and histogram', async () => {
    const { columns } = await look(
      tableOf(
        'x',
        repeat(160, (at) => `${at / 2}`),
      ),
    );
    expect(columns[0]?.numbers).toMatchObject({ min: 0, max: 79.5, mean: 39.75, histogram: new Array(16).fill(10) });
  });
});

describe('the label', () => {
  test('by its name, else a column of two values, last or first', async () => {
    const rows = (names: string, value: (at: number) => string) => [names, ...repeat(60, value)].join('\n');
    const last = await look(rows('a,b', (at) => `${at / 8},${at % 2 ? 'p' : 'q'}`));
    expect(last.label).toEqual({ column: 1, why: 'the last column, with two values' });
    const first = await look(rows('a,b', (at) => `${at % 2},${at / 8}`));
    expect(first.label).toEqual({ column: 0, why: 'the first column, with two values' });
    const named = await look(rows('a,clicked,c', (at) => `${at / 8},${at % 2},${at % 2}`));
    expect(named.label).toEqual({ column: 1, why: 'by its name' });
    expect((await look(rows('a,b', (at) => `${at / 8},${at / 16}`))).label).toBeUndefined();
    const rated = await look(rows('a,my_rating,b', (at) => `${at / 8},${at % 9},${at % 7}`));
    expect(rated.label).toEqual({ column: 1, why: 'by its name' });
    const other = await look(rows('a,my_rating,b', (at) => `${at / 8},${at % 9},${at % 2}`));
    expect(other.label).toEqual({ column: 2, why: 'the last column, with two values' });
    expect(
      (
        await look(
          rows('a,b', (at) => `${at / 8},${at / 16}`),
          { label: 'a' },
        )
      ).label?.column,
    ).toBe(0);
    await expect(look('a,b\n1,2\n', { label: 'c' })).rejects.toThrow('file.csv does not have a column c');
  });

  test('a column that nearly equals it is told of; an id and a hint are not', async () => {
    const rows = repeat(400, (at) => {
      const label = at % 4 === 0 ? 1 : 0;
      const leak = at === 7 ? 'paid' : label === 1 ? 'paid' : 'open';
      return `${leak},id${at},${at % 3 === 0 ? label : 2},${label}`;
    });
    const { leaks } = await look(['status,id,hint,label', ...rows].join('\n'));
    expect(leaks).toEqual(['status']);
  });

  test.each([
    [
      [
        ['1', 5],
        ['0', 90],
      ],
      '1',
      'by its text',
    ],
    [
      [
        ['no', 5],
        ['yes', 90],
      ],
      'yes',
      'by its text',
    ],
    [
      [
        ['-', 5],
        ['+', 90],
      ],
      '-',
      'the rarer one',
    ],
    [
      [
        ['false', 5],
        ['maybe', 90],
      ],
      'maybe',
      'by the text of the other',
    ],
    [
      [
        ['<=50K', 76],
        ['>50K', 24],
      ],
      '>50K',
      'the rarer one',
    ],
  ] as const)('of %j, %s is positive: %s', (values, positive, why) => {
    expect(positiveOf(values.map(([text, count]) => ({ text, count })))).toMatchObject({ positive, why });
  });
});

describe('reading', () => {
  test('gzip, a byte order mark, quotes over lines; bad records with their lines', async () => {
    const text = `\ufeffa,b,label\n1,"x\ny",1\n2,z,0\n\n3,z\n4,"q"w,1\n${'5,z,0\n'.repeat(20)}`;
    const { columns, records, bad, form } = await look(gzipSync(text), {}, 'file.gz');
    expect(columns.map(({ name }) => name)).toEqual(['a', 'b', 'label']);
    expect({ records, bad, header: isOfFields(form) && form.header }).toEqual({
      records: 22,
      bad: { records: 2, first: [6, 7].map((line) => ({ line, reason: expect.any(String) })) },
      header: true,
    });
    expect(columns[1]?.top.map(({ text: value }) => value)).toEqual(['z', 'x\ny']);
  });

  test('a column that the header does not name is called by its place', async () => {
    const { columns } = await look(['a,,a,c2', ...repeat(9, (at) => `${at},1,2,3`)].join('\n'));
    expect(columns.map(({ name, hasName }) => [name, hasName])).toEqual([
      ['a', false],
      ['c2_', false],
      ['c3', false],
      ['c2', true],
    ]);
  });

  test('the first records only', async () => {
    const { records, isWhole } = await look(tableOf('x', repeat(200, String)), { records: 50 });
    expect([records, isWhole]).toEqual([50, false]);
  });

  test('many values of many records need little memory, and frequent ones are found', async () => {
    const texts = repeat(12_000, (at) => (at % 4 === 0 ? 'often' : `user-${at}`));
    const { columns } = await look(tableOf('x', texts));
    expect(columns[0]?.isDistinctExact).toBe(false);
    expect(Math.abs(columns[0]!.distinct - 9001)).toBeLessThan(0.06 * 9001);
    expect(columns[0]?.top[0]).toEqual({ text: 'often', count: 3000 });
  });

  test('a quote that is never closed is an error with its line', async () => {
    const text = [...repeat(300, (at) => `${at},x,1`), '7,"open,1', ...repeat(3, () => '8,y,0')].join('\n');
    await expect(look(text)).rejects.toThrow('file.csv:301: a quote in this record is not closed');
  });

  test.each([
    ['is one JSON array', '[\n{"a": 1},\n{"a": 3}]\n'],
    ['records over several lines', '{\n  "a": 1\n}\n'],
    ['libffm', '1 0:5:a 1:9:b\n0 0:3:c 1:2:d\n'],
    ['Vowpal Wabbit', '1 |f price:0.23 sqft:0.25\n-1 |f price:0.1 sqft:0.5\n'],
    ['UTF-16 text', Buffer.from('\ufeffa,b\n1,2\n', 'utf16le')],
    ['a zip archive', 'PK\u0003\u0004\u0014\u0000'],
    ['are too few for a Parquet file', 'PAR1\u0015\u0004'],
    ['has no records', ''],
  ])('what is no table is called what it is: %s', async (what, text) => {
    await expect(look(text)).rejects.toMatchObject({ code: 'DataInvalid', message: expect.stringContaining(what) });
  });
});

test('of a sample all records have the same chance', () => {
  const records = 40_000;
  const early = Array.from({ length: records }, (_, position) => slotOf(position)).reduce<number[]>(
    (sample, slot, position) => {
      if (slot !== undefined) sample[slot] = position;
      return sample;
    },
    [],
  );
  const firstHalf = early.filter((position) => position < records / 2).length;
  expect(early.length).toBe(4096);
  expect(Math.abs(firstHalf - 2048)).toBeLessThan(150);
});

describe('a second file', () => {
  const rows = (towns: readonly string[], from: number): string =>
    ['town,amount,label', ...repeat(100, (at) => `${towns[at % towns.length]},${from + at / 4},${at % 2}`)].join('\n');

  test('has values and ranges that the first one lacks', async () => {
    const first = await look(rows(['Oslo', 'Rome'], 0), {}, 'first.csv');
    const second = await look(rows(['Oslo', 'Paris', 'Rome', ''], 5), { first }, 'second.csv');
    const { columns, compared } = compareTables(first, second);
    expect(compared).toBe(3);
    expect(columns).toEqual([
      {
        name: 'town',
        newValues: { known: 75, records: 25, distinct: 1, examples: ['Paris'] },
        ranges: undefined,
        missing: 25,
      },
      {
        name: 'amount',
        newValues: undefined,
        ranges: { of: 'number', first: [0, 24.75], second: [5, 29.75] },
        missing: 0,
      },
    ]);
  });

  test('has its columns in any order, and others', async () => {
    const first = await look(rows(['Oslo', 'Rome'], 0), {}, 'first.csv');
    const text = ['amount,new,town', ...repeat(50, (at) => `${at % 20},x${at % 2},Rome`)].join('\n');
    const second = await look(text, { first }, 'second.csv');
    expect(compareTables(first, second)).toEqual({
      columns: [],
      compared: 2,
      onlyFirst: ['label'],
      onlySecond: ['new'],
    });
  });

  test('of very many values a sample is compared', async () => {
    const ids = (from: number) =>
      tableOf(
        'user',
        repeat(6000, (at) => `u${from + at}`),
      );
    const first = await look(ids(0), {}, 'first.csv');
    const second = await look(ids(3000), { first }, 'second.csv');
    const { known, records } = second.columns[0]!.newValues!;
    expect(known).toBeGreaterThan(4000);
    expect(Math.abs(records / known - 0.5)).toBeLessThan(0.05);
  });
});

test.skipIf(isRealDataMissing)('Adult as it is', async () => {
  const real = { ...place, folder: REAL_DATA };
  const found = await lookAt(real, 'adult/adult.test.gz', { records: 2000 });
  if (found.kind !== 'table') throw new Error(found.kind);
  const { form, label, columns } = found;
  expect(form).toEqual({ format: 'csv', delimiter: ',', quote: '"', comment: '|', decimal: '.', header: false });
  expect(label).toEqual({ column: 14, why: 'the last column, with two values' });
  expect(columns.map((facts) => typeOf(facts).type).join(' ')).toBe(
    'number category number category category category category category category category number number number category category',
  );
});
