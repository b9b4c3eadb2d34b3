/** Fields and lines in the plain form, against csv-parse. */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { ColumnSpec } from '../../../../src/data/columns/column.ts';
import { hash64, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import type { ColumnPiece } from '../../../../src/data/columns/piece.ts';
import { dialectBytes, fieldsOf } from '../../../../src/data/formats/csv/fields.ts';
import type { Line } from '../../../../src/data/formats/text/lines.ts';
import * as fc from '../../../properties.ts';
import { csvPlan } from './both-forms.ts';

const NEWLINE = 10;

const dialects = fc.record({
  header: fc.constant(false),
  delimiter: fc.constantFrom(',', '\t', ';', '|'),
  quote: fc.constantFrom('"', '"', "'"),
  missing: fc.constant([]),
  decimal: fc.constant('.' as const),
});
type Dialect = typeof dialects extends fc.Arbitrary<infer T> ? T : never;

/** What a field means, and how it may be written: bare where that is possible, or in quotes; blanks around it. */
const values = fc.record({
  value: fc.string({
    unit: fc.constantFrom('a', 'b', '1', ' ', '\t', '\n', '\r', ',', ';', '|', '"', "'", '#', 'ü', '😀'),
    maxLength: 6,
  }),
  isQuoted: fc.boolean(),
  before: fc.constantFrom('', '', '', ' ', '  '),
  after: fc.constantFrom('', '', '', ' ', ' \t'),
});
type Value = typeof values extends fc.Arbitrary<infer T> ? T : never;

function fieldText({ value, isQuoted, before, after }: Value, { delimiter, quote }: Dialect): string {
  const isBare = !/^[\s"']|[\n\r]|\s$|^$/.test(value) && !value.includes(delimiter);
  const written = isBare && !isQuoted ? value : quote + value.replaceAll(quote, quote + quote) + quote;
  return before + written + after.replace(delimiter, '');
}

const tables = fc
  .tuple(
    dialects,
    fc.array(fc.array(values, { minLength: 1, maxLength: 4 }), { maxLength: 8 }),
    fc.constantFrom('\n', '\r\n'),
    fc.boolean(),
  )
  .map(([dialect, rows, newline, isEnded]) => {
    const lines = rows.map((row) => row.map((value) => fieldText(value, dialect)).join(dialect.delimiter));
    const text = lines.join(newline) + (isEnded && rows.length > 0 ? newline : '');
    return { dialect, text, expected: rows.map((row) => row.map(({ value }) => value)) };
  });

function byOther(text: string, { delimiter, quote }: Dialect): string[][] {
  const lines = ['\r\n', '\n'];
  return parse(text, {
    delimiter,
    quote,
    escape: quote,
    trim: true,
    relax_quotes: true,
    relax_column_count: true,
    record_delimiter: lines,
  });
}

function rowsOf(text: string, dialect: Dialect): string[][] {
  const bytes = Buffer.from(text);
  const rows: string[][] = [];
  for (let at = 0; at < bytes.length; ) {
    const { texts, end, breaks, fault } = fieldsOf(bytes, at, dialectBytes(dialect));
    expect(fault).toBeUndefined();
    expect(breaks).toBe(bytes.subarray(at, end).filter((byte) => byte === NEWLINE).length);
    rows.push(texts);
    at = end + 1;
  }
  return rows;
}

test('fields are what was written, and what csv-parse makes of them', () => {
  fc.assert(
    fc.property(tables, ({ dialect, text, expected }) => {
      expect(rowsOf(text, dialect)).toEqual(expected);
      expect(byOther(text, dialect)).toEqual(expected);
    }),
    { numRuns: 3000 },
  );
});

test('lines of the right number of fields are records of them', () => {
  fc.assert(
    fc.property(tables, fc.integer({ min: 1, max: 4 }), ({ dialect, text }, fields) => {
      const columns = Array.from(
        { length: fields },
        (_, at) => ({ name: `c${at}`, type: 'category', ids: 'hash' }) as const,
      );
      const spec: ColumnSpec = { columns, dialect };
      const plan = csvPlan(spec, { fields, positions: columns.map((_, at) => at) }, { task: 'binary' }, 'f.csv');
      const bytes = Buffer.from(text);
      const reader = plan.form.reader({ file: 'f.csv', bytes, offset: 0, firstLine: 1 }, plan);
      const rows = byOther(text, dialect);
      let lines = 0;
      let at = 0;
      for (const row of rows) {
        const line = reader.read(at, lines);
        if (line.kind === 'open' || line.kind === 'none') throw new Error(`a line that is ${line.kind}`);
        expect(line.kind).toBe(row.length === fields ? 'good' : 'bad');
        if (line.kind === 'good')
          expect(idsOf(line)).toEqual(
            row.map((value, field) => hash64(Buffer.from(value), vocabularySeed(`c${field}`))),
          );
        else expect(line.bad).toMatchObject({ line: 1 + lines, byteOffset: at });
        at = line.end;
        lines += line.lines;
      }
      expect(at).toBe(bytes.length);
      expect(lines).toBe(text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0));
    }),
    { numRuns: 1500 },
  );
});

const idsOf = ({ piece }: Line<ColumnPiece> & { kind: 'good' }): bigint[] =>
  piece.single.map(([low, high]) => (BigInt(high!) << 32n) | BigInt(low!));

describe('oddities', () => {
  const dialect = { header: false, delimiter: ',', quote: '"', missing: [], decimal: '.' } as const;
  const fieldsIn = (text: string, of: Partial<Dialect> = {}) => {
    const { texts, fault } = fieldsOf(Buffer.from(text), 0, dialectBytes({ ...dialect, ...of }));
    return fault === undefined ? texts : [...texts, fault];
  };

  test.each<[string, unknown[]]>([
    ['', ['']],
    [',', ['', '']],
    ['a"b,c""', ['a"b', 'c""']],
    ['""', ['']],
    ['""""', ['"']],
    [' "a" ,\t"b"\r\n', ['a', 'b']],
    ['" a "', [' a ']],
    ['a\rb', ['a\rb']],
    ['"a\r\nb",c\nd', ['a\r\nb', 'c']],
    ['a,"b', ['a', 'b', { kind: 'open', at: 2 }]],
    ['"', ['', { kind: 'open', at: 0 }]],
    ['"a""', ['a"', { kind: 'open', at: 0 }]],
    ['"a" b,c', ['a', 'c', { kind: 'after', at: 4 }]],
    ['"a"b,"c', ['a', 'c', { kind: 'open', at: 5 }]],
    ['"a"b"c",d', ['a', 'd', { kind: 'after', at: 3 }]],
  ])('%j', (text, expected) => {
    expect(fieldsIn(text)).toEqual(expected);
  });

  test('between tabs, a tab is no blank', () => {
    expect(fieldsIn('\ta \t "b"\t', { delimiter: '\t' })).toEqual(['', 'a', 'b', '']);
  });

  test('without a quote, all characters are ordinary', () => {
    const bytes = dialectBytes({ ...dialect, quote: null });
    expect(fieldsOf(Buffer.from('"a,"\n'), 0, bytes).texts).toEqual(['"a', '"']);
  });
});
