/** Columns of CSV text as `readText` reads them by the kernel, against the plain form alone. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { FieldColumn } from '../../../../src/data/columns/column.ts';
import { CsvLineReader } from '../../../../src/data/formats/csv/line-reader.ts';
import { columnReading } from '../../../../src/data/formats/text/columns.ts';
import { TextKernel, textKernel } from '../../../../src/data/formats/text/kernel.ts';
import type { LinePlan } from '../../../../src/data/formats/text/plan.ts';
import { readText } from '../../../../src/data/formats/text/read-text.ts';
import { crossIds } from '../../../../src/data/kernels/cross-ids.ts';
import { READ } from '../../../../src/data/kernels/exports.ts';
import type { LabelRule } from '../../../../src/data/labels.ts';
import * as fc from '../../../properties.ts';
import {
  ALL,
  category,
  csvPlan,
  DIALECT,
  type Dialects,
  expectSame,
  label,
  number,
  plan,
  Records,
  textOf,
} from './both-forms.ts';
import { randomPlan, randomText } from './random-csv.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('as the plain form', () => {
  test('any columns, of text that mostly fits them', () => {
    let [records, bads] = [0, 0];
    fc.assert(
      fc.property(fc.gen(), fc.constantFrom(ALL, ALL, 0, 1, 5), fc.constantFrom(ALL, 1, 3), (g, room, atOnce) => {
        const random = randomPlan(g);
        const got = expectSame(randomText(g, random), random, room, atOnce);
        records += got.records.length;
        bads += got.bads.length;
      }),
      { numRuns: 1500 },
    );
    // It is no test of either alone.
    expect(Math.min(records, bads) / (records + bads)).toBeGreaterThan(0.1);
  });

  test('any columns, of bytes that mean something', () => {
    const byte = fc.constantFrom(...Buffer.from('"",,\t\n\n\r ;|#019.-+eaNA\'\0\xff', 'latin1'));
    fc.assert(
      fc.property(fc.gen(), fc.array(byte, { maxLength: 200 }), (g, bytes) => {
        expectSame(Uint8Array.from(bytes), randomPlan(g));
      }),
      { numRuns: 1000 },
    );
  });

  test('any bytes at all', () => {
    fc.assert(
      fc.property(fc.gen(), fc.uint8Array({ maxLength: 300 }), (g, bytes) => {
        expectSame(bytes, randomPlan(g));
      }),
      { numRuns: 300 },
    );
  });

  test('texts of each length', () => {
    const lines = Array.from({ length: 200 }, (_, length) => `${'aä€'.repeat(70).slice(0, length)},${length}\n`);
    const got = expectSame(Buffer.from(lines.join('')), plan([category('c'), number('n')]));
    expect(got.records).toHaveLength(200);
  });

  test.each(['.', ','] as const)('numbers with %s', (decimal) => {
    const text = fc.oneof(
      fc.double({ noNaN: true }).map(String),
      fc.float({ noNaN: true }).map(String),
      fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat(20)).map(([digits, point]) => {
        const digit = String(digits);
        return `${digit.slice(0, point)}.${digit.slice(point)}`;
      }),
      fc.stringMatching(/^[+-]?[0-9]{0,19}[.,]?[0-9]{0,6}(e-?[0-9]{1,3})?$/),
    );
    const columns = plan([number('n'), { name: 'w', type: 'weight' }], { decimal, delimiter: ';' });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), (texts) => {
        const lines = texts
          .map((number) => (decimal === ',' ? number.replace('.', ',') : number))
          .map((n) => `${n};${n}\n`);
        expectSame(Buffer.from(lines.join('')), columns);
      }),
      { numRuns: 500 },
    );
  });

  test('labels of each rule', () => {
    const texts = [
      '0',
      '1',
      '-1',
      '+1',
      '2',
      '-0',
      '1.0',
      '1.5',
      '1e0',
      '3',
      '0.9999999999999999',
      '0.99999999999999999999',
      '1e39',
      '-1e-60',
      '',
    ];
    for (const rule of [{ task: 'binary' }, { task: 'multiclass', classes: 3 }, { task: 'regression' }] as const) {
      for (const text of texts) expectSame(Buffer.from(`${text},x\n`), plan([label, category('c')], {}, rule));
    }
  });

  test('whole numbers, as they are and hashed', () => {
    const base = { type: 'category', ids: 'integer' } as const;
    const columns = plan([
      { ...base, name: 'plain' },
      { ...base, name: 'hashed', vocabulary: 'v' },
      { ...base, name: 'folded', buckets: 7 },
      { ...base, name: 'some', type: 'categories', separator: '|', maxLength: 2, vocabulary: 'v' },
    ]);
    const signs = ['', '+', '-', '--', ' '];
    const digits = ['0', '5', '42', '007', '00', '', 'x', '5x', '123456789012345678', '1234567890123456789'];
    const largest = ['9223372036854775808', '9223372036854775809', '18446744073709551615', '18446744073709551616'];
    const texts = signs.flatMap((sign) => [...digits, ...largest].map((digit) => sign + digit));
    for (const text of texts) expectSame(Buffer.from(`${text},${text},${text},5|${text}|\n`), columns);
    const groups = plan([{ name: 'g', type: 'group', ids: 'integer' }, number('n')]);
    for (const text of texts) expectSame(Buffer.from(`${text},1\n`), groups);
  });

  test('ids of a line that is left are not among those of a piece', () => {
    const kernel = new TextKernel();
    const list = { name: 'l', type: 'categories', ids: 'integer', separator: ' ', maxLength: 3 } as const;
    kernel.prepare(plan([list, number('n')]));
    kernel.begin(Buffer.from('1 2,3\n4 5 6,x\n'));
    expect(kernel.next(ALL)).toMatchObject({ status: READ.unusual, piece: { records: 1 } });
    kernel.begin(Buffer.from('1 2,3\n4 5 6,x\n'));
    expect([...kernel.next(ALL).piece.listIds]).toEqual([1, 0, 2, 0]);
  });

  test('many texts of classes', () => {
    const classes = Array.from({ length: 1000 }, (_, at) => `class ${at}`);
    const lines = [...classes, 'class', 'class 1000', '"class 999"'].map((text) => `${text}\n`).join('');
    const got = expectSame(
      Buffer.from(lines),
      plan([{ ...label, classes } as FieldColumn], {}, { task: 'multiclass', classes: 1000 }),
    );
    expect([got.records.length, got.bads.length]).toEqual([1001, 2]);
  });

  test('values of the path, good and bad', () => {
    const columns: FieldColumn[] = [
      label,
      { ...number('n'), from: 'folder' },
      { ...category('c'), from: 'folder' },
      { name: 'l', type: 'categories', ids: 'integer', separator: ' ', maxLength: 3, from: 'folder' },
    ];
    const of = (path: string): LinePlan =>
      csvPlan({ columns, dialect: DIALECT }, { fields: 1, positions: [0, -1, -1, -1] }, { task: 'binary' }, path);
    const text = Buffer.from('1\n0\nx\n1');
    expect(expectSame(text, of('n=2.5/c=a%2Fb/l=7 8/f.csv')).records).toHaveLength(3);
    expect(expectSame(text, of('n=/c=/l=/f.csv')).records).toHaveLength(3);
    const { records, bads } = expectSame(text, of('n=x/c=a/l=7/f.csv'));
    expect([records.length, bads.length]).toEqual([0, 4]);
    expect(bads[0]!.record.reason).toBe('column n: "x" is not a finite 32-bit number, in the path of the file');
  });

  test('so many columns that not all records of the text have room', () => {
    const columns = Array.from({ length: LIMITS.columns }, (_, at): FieldColumn => {
      return { name: `c${at}`, type: 'category', ids: 'integer' };
    });
    const wide = new TextKernel();
    wide.prepare(plan(columns));
    wide.begin(Buffer.from(`${','.repeat(LIMITS.columns - 1)}\n`.repeat(1024)));
    const first = wide.next(ALL);
    expect(first.status).toBe(READ.full);
    const { records } = first.piece;
    expect(records).toBeGreaterThan(900);
    const rest = wide.next(ALL);
    expect([rest.status, rest.piece.records, rest.piece.lines[0]]).toEqual([READ.done, 1024 - records, records]);
  });

  test('so many records that they come in pieces', () => {
    const small = plan([number('n')]);
    const bytes = Buffer.from('1\n'.repeat(10_000));
    expect(expectSame(bytes, small).records).toHaveLength(10_000);
    const kernel = new TextKernel();
    kernel.prepare(small);
    kernel.begin(bytes);
    expect(kernel.next(ALL)).toMatchObject({ status: READ.full, piece: { records: LIMITS.pieceRecords } });
  });

  test('text that is longer than the kernel takes', () => {
    const columns = plan([number('n'), category('c')]);
    const bytes = Buffer.from(`1,${'x'.repeat(1000)}\n"2","y\n"\n`.repeat(4300));
    const got = new Records(100, 7);
    expect(readText(textOf(bytes), columnReading(columns), got)).toMatchObject({ isFull: true, lines: 150 });
    expect(got.records).toEqual(expectSame(bytes.subarray(0, 50 * 1012), columns, 100).records);
  });
});

describe('what is frequent is read by the kernel', () => {
  const every: FieldColumn[] = [
    { name: 'label', type: 'label' },
    number('n'),
    category('c'),
    { name: 'b', type: 'category', ids: 'hash', buckets: 100 },
    { name: 'i', type: 'category', ids: 'integer' },
    { name: 'v', type: 'category', ids: 'integer', vocabulary: 'v' },
    { name: 'l', type: 'categories', ids: 'hash', separator: '|', maxLength: 3 },
    { name: 'x', type: 'ignore' },
    { name: 'w', type: 'weight' },
    { name: 'g', type: 'group', ids: 'integer' },
    { name: 'h', type: 'group', ids: 'hash' },
    { name: 't', type: 'time', format: 'iso', zone: 'Europe/Oslo' },
  ];
  const values = [
    '1',
    '-2.5',
    'red',
    'blue',
    '-42',
    '0',
    'a|b| c',
    'an ""y',
    '0.5',
    '9223372036854775',
    'u1',
    '2024-02-29 12:00',
  ];
  const missing = ['0', '', '', '', '', '', '', '', '1', '', '', '2024-03-01'];

  const quoted = values.map((value) => `"${value}"`);
  const blank = values.map((value) => `  ${value} `);

  test.each<[string, string[][], Partial<Dialects>, string]>([
    ['plain', [values, missing], {}, '\n'],
    ['in quotes', [quoted, missing], {}, '\n'],
    ['with blanks', [blank, values], { delimiter: ';' }, '\n'],
    ['between tabs', [values, missing, blank], { delimiter: '\t', quote: null }, '\n'],
    ['with carriage returns', [values, quoted, missing], {}, '\r\n'],
    ['with comments', [values, ['# one', 'two'], [''], [' ']], { comment: '#' }, '\n'],
    [
      'with decimal commas',
      [values.map((value) => value.replace('.', ',')), missing],
      { delimiter: ';', decimal: ',' },
      '\n',
    ],
    [
      'with texts of what is missing',
      [values, missing.map((text) => text || 'NA')],
      { missing: ['', 'NA', 'null'] },
      '\n',
    ],
  ])('%s', (_, lines, dialect, newline) => {
    const used = plan(every, dialect);
    const text = lines.map((fields) => fields.join(dialect.delimiter ?? ',')).join(newline);
    const bytes = Buffer.from(`${text}${newline}${text}`);
    textKernel().prepare(used);
    const plainly = vi.spyOn(CsvLineReader.prototype, 'read');
    const got = new Records(ALL, ALL);
    readText(textOf(bytes), columnReading(used), got);
    expect(plainly).not.toHaveBeenCalled();
    expect(got.bads).toEqual([]);
    expect(got.records.length).toBeGreaterThan(1);
    plainly.mockRestore();
    expectSame(bytes, used);
  });

  test.each<[FieldColumn, LabelRule, string]>([
    [label, { task: 'binary' }, '1\n0\n-1\n+1\n"1"\n'],
    [label, { task: 'multiclass', classes: 30 }, '0\n29\n7.0\n'],
    [label, { task: 'regression' }, '1.25e3\n-0.001\n16777217\n'],
    [{ ...label, positive: ['>50K'] } as FieldColumn, { task: 'binary' }, '<=50K\n>50K\nx\n'],
    [{ ...label, positive: ['yes'], negative: ['no'] } as FieldColumn, { task: 'binary' }, 'yes\nno\n"yes"\n'],
    [{ ...label, classes: ['a', 'b', 'ü'] } as FieldColumn, { task: 'multiclass', classes: 3 }, 'a\n ü \nb\n'],
  ])('labels: %j', (column, rule, text) => {
    const used = plan([column], {}, rule);
    const kernel = new TextKernel();
    kernel.prepare(used);
    kernel.begin(Buffer.from(text));
    expect(kernel.next(ALL)).toMatchObject({ status: READ.done, piece: { records: text.split('\n').length - 1 } });
    expectSame(Buffer.from(text), used);
  });
});

test('what is prepared stays prepared, and what was returned stays valid beside combinations of it', () => {
  const kernel = new TextKernel();
  const used = plan([category('c'), category('d')]);
  kernel.prepare(used);
  kernel.begin(Buffer.from('a,b\n'.repeat(5000)));
  const { piece } = kernel.next(ALL);
  const before = piece.single.map((ids) => ids.slice());
  const crossed = crossIds(piece.single, piece.records, 1n);
  expect(piece.single).toEqual(before);
  expect(crossed).toEqual(crossIds(before, piece.records, 1n));
  kernel.prepare(used);
  expect(kernel.next(ALL)).toMatchObject({ status: READ.done, piece: { records: 5000 - 4096 } });
  expect([kernel.at, kernel.lines]).toEqual([20_000, 5000]);
});
