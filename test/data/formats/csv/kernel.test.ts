/** Columns of CSV text as `readText` reads them by the kernel, against the plain form alone. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { FieldColumn } from '../../../../src/data/columns/column.ts';
import type { ColumnPiece } from '../../../../src/data/columns/piece.ts';
import { CsvKernel, csvKernel } from '../../../../src/data/formats/csv/kernel.ts';
import { type CsvText, type Line, LineReader } from '../../../../src/data/formats/csv/parser.ts';
import { type LinePlan, planOf } from '../../../../src/data/formats/csv/plan.ts';
import { type PieceSink, type ReadText, readText } from '../../../../src/data/formats/csv/text.ts';
import { crossIds } from '../../../../src/data/kernels/cross-ids.ts';
import { READ } from '../../../../src/data/kernels/exports.ts';
import type { LabelRule } from '../../../../src/data/labels.ts';
import type { BadRecord } from '../../../../src/data/source.ts';
import * as fc from '../../../properties.ts';
import { randomPlan, randomText } from './random-csv.ts';

const bits = (values: Float32Array): Uint32Array => new Uint32Array(values.slice().buffer);

/** All that is known of one record, its floats as bits. */
function recordOf(piece: ColumnPiece, at: number): unknown {
  const halves = (ids: Uint32Array, place = at): number[] => [...ids.subarray(2 * place, 2 * place + 2)];
  return {
    label: bits(piece.labels)[at],
    weight: piece.weights && bits(piece.weights)[at],
    group: piece.groups && halves(piece.groups),
    numbers: piece.numbers.map((values) => bits(values)[at]),
    single: piece.single.map((ids) => halves(ids)),
    lists: piece.lists.map(({ starts, ends }) => [...piece.listIds.subarray(2 * starts[at]!, 2 * ends[at]!)]),
    texts: piece.texts.map(({ starts, ends }) =>
      Buffer.from(piece.bytes.subarray(starts[at], ends[at])).toString('hex'),
    ),
    time: piece.times?.[at],
    line: piece.lines[at],
    start: piece.starts[at],
    end: piece.ends[at],
  };
}

class Records implements PieceSink {
  readonly records: unknown[] = [];
  readonly bads: { record: BadRecord; start: number; end: number }[] = [];
  readonly #room: number;
  readonly #atOnce: number;

  constructor(room: number, atOnce: number) {
    this.#room = room;
    this.#atOnce = atOnce;
  }

  get quota(): number {
    return Math.min(this.#room - this.records.length, this.#atOnce);
  }

  get badRecords(): number {
    return this.bads.length;
  }

  add(piece: ColumnPiece, firstLine: number): void {
    expect(firstLine).toBe(FIRST_LINE);
    expect(piece.records).toBeLessThanOrEqual(this.quota);
    for (let at = 0; at < piece.records; at++) this.records.push(recordOf(piece, at));
  }

  bad(record: BadRecord, start: number, end: number): void {
    this.bads.push({ record, start, end });
  }
}

const FIRST_LINE = 11;
const SHOWN_RECORDS = 8;
const ALL = 1e9;

const textOf = (bytes: Uint8Array): CsvText => ({ file: 'f.csv', bytes, offset: 1000, firstLine: FIRST_LINE });

/** What a record without a time is. */
function untimed(
  { bytes, offset }: CsvText,
  { times }: LinePlan,
  { piece }: Line & { kind: 'good' },
  lines: number,
): BadRecord {
  const [start, end] = [piece.starts[0]!, piece.ends[0]!];
  const shown = Buffer.from(bytes.subarray(start, Math.min(end, start + 4096))).toString('latin1');
  const place = { file: 'f.csv', line: FIRST_LINE + lines, byteOffset: offset + start };
  return { ...place, reason: times!.faultOf(piece, 0), text: shown.trimEnd() };
}

/** The same by the plain form alone. */
function readPlainly(text: CsvText, plan: LinePlan, into: Records): ReadText {
  const reader = new LineReader(text, plan);
  let lines = 0;
  let at = 0;
  while (at < text.bytes.length) {
    const line = reader.read(at, lines);
    if (line.kind !== 'none' && into.quota === 0) return { bytes: at, lines, isFull: true };
    if (line.kind === 'open') return { bytes: at, lines, isFull: false, openQuote: line.at };
    const times = line.kind === 'good' ? plan.times?.of(line.piece) : undefined;
    const isTimed = times === undefined || !Number.isNaN(times[0]!);
    if (line.kind === 'good' && isTimed) into.add({ ...line.piece, times }, FIRST_LINE);
    else if (line.kind !== 'none') {
      const { text: shown, ...rest } = line.kind === 'bad' ? line.bad : untimed(text, plan, line, lines);
      into.bad(into.badRecords < SHOWN_RECORDS ? { ...rest, text: shown! } : rest, at, line.end);
    }
    lines += line.lines;
    at = line.end;
  }
  return { bytes: at, lines, isFull: false };
}

function expectSame(bytes: Uint8Array, plan: LinePlan, room = ALL, atOnce = ALL): Records {
  const [got, expected] = [new Records(room, atOnce), new Records(room, atOnce)];
  const result = readText(textOf(bytes), plan, got);
  expect(result).toEqual(readPlainly(textOf(bytes), plan, expected));
  expect(got.records).toEqual(expected.records);
  expect(got.bads).toEqual(expected.bads);
  return got;
}

const EXPECTED = 'a time such as 2024-12-31, 2024-12-31T23:59:59.999 or 2024-12-31T23:59:59Z';

const DIALECT = { header: false, delimiter: ',', quote: '"', missing: [''], decimal: '.' } as const;
type Dialects = Parameters<typeof planOf>[0]['dialect'];

function plan(columns: FieldColumn[], dialect: Partial<Dialects> = {}, rule: LabelRule = { task: 'regression' }) {
  const positions = columns.map((_, at) => at);
  return planOf({ columns, dialect: { ...DIALECT, ...dialect } }, { fields: columns.length, positions }, rule, 'f.csv');
}

const number = (name: string, missing: 'mean' | 'error' = 'mean'): FieldColumn => ({
  name,
  type: 'number',
  normalize: 'none',
  missing,
});
const category = (name: string): FieldColumn => ({ name, type: 'category', ids: 'hash' });
const label: FieldColumn = { name: 'label', type: 'label' };

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
    const kernel = new CsvKernel();
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
      planOf({ columns, dialect: DIALECT }, { fields: 1, positions: [0, -1, -1, -1] }, { task: 'binary' }, path);
    const text = Buffer.from('1\n0\nx\n1');
    expect(expectSame(text, of('n=2.5/c=a%2Fb/l=7 8/f.csv')).records).toHaveLength(3);
    expect(expectSame(text, of('n=/c=/l=/f.csv')).records).toHaveLength(3);
    const { records, bads } = expectSame(text, of('n=x/c=a/l=7/f.csv'));
    expect([records.length, bads.length]).toEqual([0, 4]);
    expect(bads[0]!.record.reason).toBe('column n: "x" is not a finite 32-bit number, in the path of the file');
  });

  test('records without a good time, among others and alone', () => {
    const columns = plan([number('n'), { name: 't', type: 'time', format: 'iso', zone: 'UTC' }, category('c')]);
    const times = ['2024-01-01', '', '2024-01-02', '2024-02-30', '"2024-01-""03"', '"2024-01-04"', ' 1969-12-31 '];
    const lines = times.map((time, at) => `${at},${time},"a""b"`);
    for (const text of [lines.join('\n'), lines.slice(1).join('\r\n'), lines.slice(1, 4).join('\n'), lines[1]!]) {
      for (const atOnce of [ALL, 1, 2]) expectSame(Buffer.from(text), columns, ALL, atOnce);
    }
    const { records, bads } = expectSame(Buffer.from(lines.join('\n')), columns, ALL, ALL);
    const day = (date: string): unknown => expect.objectContaining({ time: Date.parse(date) });
    expect(records).toEqual(['2024-01-01', '2024-01-02', '2024-01-04', '1969-12-31'].map(day));
    expect(bads.map(({ record: { line, reason } }) => [line, reason])).toEqual([
      [FIRST_LINE + 1, 'column t: the time has no value'],
      [FIRST_LINE + 3, `column t: time "2024-02-30" is not ${EXPECTED}`],
      [FIRST_LINE + 4, `column t: time "2024-01-"03" is not ${EXPECTED}`],
    ]);
  });

  test('a time of the path, good and bad', () => {
    const columns: FieldColumn[] = [
      label,
      { name: 'day', type: 'time', format: 'iso', zone: 'Europe/Oslo', from: 'folder' },
    ];
    const of = (path: string): LinePlan =>
      planOf({ columns, dialect: DIALECT }, { fields: 1, positions: [0, -1] }, { task: 'binary' }, path);
    const { records } = expectSame(Buffer.from('1\n0\n"1"'), of('day=2024-06-01T00%3A00/f.csv'));
    expect(records).toEqual(Array(3).fill(expect.objectContaining({ time: Date.parse('2024-05-31T22:00Z') })));
    const { bads } = expectSame(Buffer.from('1\n0\n'), of('day=today/f.csv'));
    expect(bads.map(({ record }) => record.reason)).toEqual(
      Array(2).fill(`column day: time "today" is not ${EXPECTED}, in the path of the file`),
    );
    expect(expectSame(Buffer.from('1'), of('day=/f.csv')).bads[0]!.record.reason).toBe(
      'column day: the time has no value, in the path of the file',
    );
  });

  test('so many columns that not all records of the text have room', () => {
    const columns = Array.from({ length: LIMITS.columns }, (_, at): FieldColumn => {
      return { name: `c${at}`, type: 'category', ids: 'integer' };
    });
    const wide = new CsvKernel();
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
    const kernel = new CsvKernel();
    kernel.prepare(small);
    kernel.begin(bytes);
    expect(kernel.next(ALL)).toMatchObject({ status: READ.full, piece: { records: LIMITS.pieceRecords } });
  });

  test('text that is longer than the kernel takes', () => {
    const columns = plan([number('n'), category('c')]);
    const bytes = Buffer.from(`1,${'x'.repeat(1000)}\n"2","y\n"\n`.repeat(4300));
    const got = new Records(100, 7);
    expect(readText(textOf(bytes), columns, got)).toMatchObject({ isFull: true, lines: 150 });
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
    csvKernel().prepare(used);
    const plainly = vi.spyOn(LineReader.prototype, 'read');
    const got = new Records(ALL, ALL);
    readText(textOf(bytes), used, got);
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
    const kernel = new CsvKernel();
    kernel.prepare(used);
    kernel.begin(Buffer.from(text));
    expect(kernel.next(ALL)).toMatchObject({ status: READ.done, piece: { records: text.split('\n').length - 1 } });
    expectSame(Buffer.from(text), used);
  });
});

test('what is prepared stays prepared, and what was returned stays valid beside combinations of it', () => {
  const kernel = new CsvKernel();
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
