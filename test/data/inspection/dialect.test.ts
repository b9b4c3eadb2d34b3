/** How tables are divided, guessed from text that was written by all kinds of programs. */
import { describe, expect, test } from 'vitest';
import { dialectOf } from '../../../src/data/inspection/dialect.ts';
import { decimalOf, hasHeader } from '../../../src/data/inspection/header.ts';
import * as fc from '../../properties.ts';

const guess = (text: string) => dialectOf('t.csv', Buffer.from(text), true);

describe('dialectOf', () => {
  test.each([
    ['commas', 'a,b,c\n1,2,x y\n3,4,z w\n', { delimiter: ',', quote: '"' }],
    ['commas and blanks, as UCI has them', '39, State-gov, 77516\n50, Private, 83311\n', { delimiter: ',' }],
    ['tabs, with commas in texts', 'a\tb, c\td\n1\tx, y\t2\n', { delimiter: '\t' }],
    ['semicolons and decimal commas', '1,5;2,5\n0,25;1,0\n', { delimiter: ';' }],
    ['bars', '1|United States|a\n2|New York|b\n', { delimiter: '|' }],
    ['blanks', '1 a 0.5\n2 b 0.25\n', { delimiter: ' ' }],
    ['commas within quotes', 'x,"a;b, c"\ny,"d;e, f"\nz,"g;h, i"\n', { delimiter: ',', quote: '"' }],
    ['lists within fields', 'x,a|b,1\ny,c|d,0\n', { delimiter: ',' }],
    ['single quotes', "'a,b',1\n'c,d',2\n'e',3\n", { delimiter: ',', quote: "'" }],
    ['quotes that are ordinary', '5" pipe,1\n"open,2\n"x,3\n', { delimiter: ',', quote: null }],
    ['line breaks within quotes', 'a,"b\nc",1\nd,"e",2\n', { delimiter: ',', quote: '"' }],
    ['a byte order mark', '\ufeffa,b\n1,2\n', { delimiter: ',' }],
    ['windows line ends', 'a;b\r\n1;2\r\n3;4\r\n', { delimiter: ';' }],
    ['comments', '# made by x\na,b\n1,2\n', { delimiter: ',', comment: '#' }],
    ['a header that begins as a comment', '#id,b\n1,2\n3,4\n', { delimiter: ',', comment: undefined }],
    ['two colons', '1::10::5\n1::20::3\n', { delimiter: '::', quote: null }],
    ['two colons, with others in texts', '1::Seven (1995)::a|b\n2::"Lion", The::c\n', { delimiter: '::', quote: null }],
    ['two colons, and further fields', '1::10::5\n1::20::3::x\n1::20::3::x::y\n2::20::1\n', { delimiter: '::' }],
    ['commas, and names of programs', 'name,calls\nstd::a::x,7\nstd::b::y,3\nstd::a::z,2\n', { delimiter: ',' }],
    ['commas, and names without a header', 'A::b3,C::d2\nA::b4,C::d1\n', { delimiter: ',' }],
    ['commas, and names below a header', 'a,b,c\nx::y::1,p::q,0\nz::y::1,p::q,1\n', { delimiter: ',' }],
    ['tabs, and names of programs', 'name\tcalls\nstd::a::x\t7\nstd::b::y\t3\n', { delimiter: '\t' }],
    ['blanks, and names of programs', 'std::a::x 3 1\nstd::b::y 2 1\n', { delimiter: ' ' }],
    ['one user', '1::10::5\n1::20::3\n1::30::3\n', { delimiter: '::' }],
    ['one line', 'ann::10::5\n', { delimiter: '::' }],
    ['commas and addresses', 'web,fe80::1,5\ndb,fe80::2,3\n', { delimiter: ',' }],
    ['the first line of adult.test', '|1x3 Cross validator\n25, Private, 0\n38, Private, 1\n', { comment: '|' }],
  ])('%s', (_what, text, expected) => {
    expect(guess(text)).toMatchObject(expected);
  });

  test('what it looks like is told', () => {
    expect(() => guess('1 cost:0.5 3:1\n0 3:1 cost:1 7:1\n1 cost:2\n')).toThrow(
      'it seems to be libsvm with names for ids',
    );
  });

  test('lines that have nothing in common are no table', () => {
    expect(() => guess('a,b\nc\nd;e;f\ng h i j\n')).toThrow(
      't.csv is not a table: its lines have different numbers of fields',
    );
  });

  test('of two colons there may be too few', () => {
    const lines = '1::10\n1::20\n2::10\nx::\n:: \n'.replaceAll('1::', 'a b::');
    expect(() => guess(lines)).toThrow(expect.objectContaining({ hint: expect.stringContaining('interactions') }));
    expect(() => guess(`${lines}a,b\n`)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('with a single comma') }),
    );
  });
});

describe('hasHeader', () => {
  const rows = (text: string): string[][] => text.split('\n').map((line) => line.split(','));

  test.each([
    ['names over numbers', 'age,city\n20,Oslo\n30,Rome', true],
    ['numbers from the first line on', '20,Oslo\n30,Rome', false],
    ['a missing number in the first line', '?,Oslo\n30,Rome\n40,Rome', false],
    ['a missing number below', 'age,city\n?,Oslo\n30,Rome', true],
    ['texts alone, one with a usual name', 'label,kind\na,b\nc,b', true],
    ['texts alone, values that come again', 'Oslo,a\nRome,a\nOslo,b\nOslo,a', false],
    ['texts alone, names that never come again', 'town,kind\nRome,a\nRome,b\nRome,a', true],
    ['the same name twice over texts', 'town,town\nRome,a\nRome,b\nRome,a', false],
  ])('%s', (_what, text, expected) => {
    expect(hasHeader(rows(text), '.')).toBe(expected);
  });
});

test('a decimal comma is one where no column has points', () => {
  expect(decimalOf([['a'], ['1,5'], ['2']], ';')).toBe(',');
  expect(
    decimalOf(
      [
        ['a', 'b'],
        ['1.5', 'x,y'],
      ],
      ';',
    ),
  ).toBe('.');
  expect(decimalOf([['a'], ['1.234,5']], ';')).toBe('.');
});

/** A table as it is, and how it is written. */
const written = fc.record({
  delimiter: fc.constantFrom(',', '\t', ';', '|'),
  quote: fc.constantFrom('"', "'"),
  header: fc.boolean(),
  newline: fc.constantFrom('\n', '\r\n'),
  decimal: fc.constantFrom('.', ','),
  endsInLine: fc.boolean(),
  rows: fc.array(
    fc.record({
      amount: fc.integer({ min: 1, max: 99_999 }),
      town: fc.constantFrom('Oslo', 'New York', 'Rome'),
      note: fc.constantFrom('a, b', 'c; d', 'e | f', 'g\th', "it's", 'say "x"', 'two\nlines', 'plain'),
      flag: fc.constantFrom('yes', 'no'),
    }),
    { minLength: 20, maxLength: 40 },
  ),
});

test('whatever program wrote a table, its dialect is found', () => {
  fc.assert(
    fc.property(written, ({ delimiter, quote, header, newline, decimal, endsInLine, rows }) => {
      fc.pre(decimal === '.' || delimiter !== ',');
      const field = (text: string): string =>
        [delimiter, quote, '\n', '\t'].some((special) => text.includes(special))
          ? `${quote}${text.replaceAll(quote, quote + quote)}${quote}`
          : text;
      const records = rows.map(({ amount, town, note, flag }) => {
        return [(amount / 8).toFixed(3).replace('.', decimal), town, note, flag].map(field);
      });
      const all = header ? [['amount', 'town', 'note', 'flag'], ...records] : records;
      const text = all.map((record) => record.join(delimiter)).join(newline) + (endsInLine ? newline : '');
      const dialect = guess(text);
      expect(dialect).toMatchObject({ delimiter, comment: undefined });
      // Either kind of quotes will do where none is needed.
      if (rows.some(({ note }) => field(note) !== note)) expect(dialect.quote).toBe(quote);
      const plain = [
        ...(header ? [['amount', 'town', 'note', 'flag']] : []),
        ...rows.map((row) => [(row.amount / 8).toFixed(3).replace('.', decimal), row.town, row.note, row.flag]),
      ];
      expect(decimalOf(plain, delimiter)).toBe(decimal);
      expect(hasHeader(plain, decimal)).toBe(header);
    }),
    { numRuns: 60 },
  );
});
