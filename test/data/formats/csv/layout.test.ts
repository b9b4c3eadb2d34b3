/** Where columns are in a file, by its header or by position. */
import { describe, expect, test } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { Column, Dialect } from '../../../../src/data/columns/column.ts';
import { HEAD_BYTES, headOf } from '../../../../src/data/formats/csv/layout.ts';
import type { FileHead } from '../../../../src/data/formats/text/form.ts';
import { CSV, category, cross, LABEL, number } from '../../columns/samples.ts';

const COLUMNS: Column[] = [LABEL, number('age'), category('sex'), cross('both', ['sex', 'sex'])];
const NAMES = ['label', 'age', 'sex'];

interface How {
  readonly columns?: Column[];
  readonly dialect?: Partial<Dialect>;
  readonly isWhole?: boolean;
}

function head(text: string | Uint8Array, { columns = COLUMNS, dialect = {}, isWhole = true }: How = {}) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return headOf('a.csv', bytes, isWhole, { columns, dialect: { ...CSV, ...dialect } });
}

function complaint(text: string | Uint8Array, how?: How): { message: string; hint: string | undefined } {
  try {
    head(text, how);
  } catch (error) {
    if (!(error instanceof PaddletError)) throw error;
    expect(error.code).toBe('DataInvalid');
    return { message: error.message, hint: error.hint };
  }
  throw new Error('expected an error');
}

const at = (text: string, how?: How): FileHead => {
  const found = head(text, how);
  if (found === undefined) throw new Error('expected a head');
  return found;
};

describe('a header', () => {
  test('says where columns are, by name in any order', () => {
    expect(at('label,age,sex\n1,2,m\n')).toEqual({
      layout: { fields: 3, positions: [0, 1, 2] },
      names: NAMES,
      offset: 14,
      line: 2,
    });
    expect(at('x,sex,label,y,age\n').layout).toEqual({ fields: 5, positions: [2, 4, 1] });
  });

  test('may begin with a byte order mark', () => {
    expect(at('\ufefflabel,age,sex\n1')).toMatchObject({ layout: { positions: [0, 1, 2] }, offset: 17, line: 2 });
    expect(at('\ufeff"label",age,sex\n1').layout.positions).toEqual([0, 1, 2]);
  });

  test('may have CRLF, blanks around names, and no line break at its end', () => {
    expect(at('label, age\t,sex\r\n1')).toMatchObject({ layout: { positions: [0, 1, 2] }, offset: 17, line: 2 });
    expect(at('label,age,sex')).toEqual({
      layout: { fields: 3, positions: [0, 1, 2] },
      names: NAMES,
      offset: 13,
      line: 2,
    });
  });

  test('may have quoted names with delimiters, quotes and line breaks', () => {
    const columns = [LABEL, number('a, "b"'), number('c\nd')];
    expect(at('"c\nd","a, ""b""",label\n1,2,3\n', { columns })).toEqual({
      layout: { fields: 3, positions: [2, 1, 0] },
      names: ['c\nd', 'a, "b"', 'label'],
      offset: 23,
      line: 3,
    });
  });

  test('follows comments and empty lines', () => {
    const text = '\n# made, by\r\n \t\r\n  # "hand\nlabel,age,sex\n1,2,m\n';
    const found = at(text, { dialect: { comment: '#' } });
    expect(found).toMatchObject({ layout: { positions: [0, 1, 2] }, line: 6 });
    expect(text.slice(found.offset)).toBe('1,2,m\n');
  });

  test('of names that are not ASCII is compared as UTF-8', () => {
    expect(at('año,label\n', { columns: [LABEL, number('año')] }).layout.positions).toEqual([1, 0]);
  });

  test('with other delimiters and quotes', () => {
    const dialect = { delimiter: ';', quote: "'" };
    expect(at("'label';age;'se''x'\n", { columns: [number("se'x"), LABEL], dialect }).layout.positions).toEqual([2, 0]);
    const plain = { columns: [number('"a'), LABEL], dialect: { quote: null } };
    expect(at('label,"a\n', plain).layout.positions).toEqual([1, 0]);
  });

  test('may lack columns that are ignored, or have them twice, or in a folder', () => {
    const ignored = ['a', 'b', 'c'].map((name): Column => ({ name, type: 'ignore' }));
    const columns = [...ignored, LABEL, category('dt', { from: 'folder' })];
    expect(at('a,b,label,b\n', { columns }).layout.positions).toEqual([0, -1, -1, 2, -1]);
  });

  test('does not matter to a column with a position', () => {
    expect(at('label,x,x\n', { columns: [LABEL, number('x', { position: 3 })] }).layout.positions).toEqual([0, 2]);
  });
});

describe('files without records', () => {
  test.each(['', '\n\n', '\ufeff', '# nothing\n', ' \t\r\n'])('%j has no head', (text) => {
    expect(head(text, { dialect: { comment: '#' } })).toBeUndefined();
  });

  test('a header alone has one', () => {
    expect(at('label,age,sex\n')).toEqual({
      layout: { fields: 3, positions: [0, 1, 2] },
      names: NAMES,
      offset: 14,
      line: 2,
    });
  });
});

describe('without a header', () => {
  const columns = [number('age', { position: 2 }), { ...LABEL, position: 1 }];

  test('columns are where their positions say, and the first line is a record', () => {
    const found = at('\n# x\n1,2,3\n', { columns, dialect: { header: false, comment: '#' } });
    expect(found).toEqual({ layout: { fields: 3, positions: [1, 0] }, names: undefined, offset: 5, line: 3 });
  });

  test('positions beyond the fields are refused', () => {
    expect(complaint('1\n', { columns, dialect: { header: false } })).toEqual({
      message: 'a.csv:1: 1 fields, column age is at position 2',
      hint: 'compare data.columns with the file: data.csv.header is false',
    });
    expect(complaint('\n1;2\n', { columns, dialect: { header: false } })).toEqual({
      message: 'a.csv:2: 1 fields, column age is at position 2',
      hint: 'the fields seem to be separated by ";": set data.csv.delimiter; for predict, pass --delimiter',
    });
  });
});

describe('a header is refused', () => {
  test('without a column, naming the ones that it has and the nearest', () => {
    expect(complaint('\nlabel,Age,sex\n')).toEqual({
      message: 'a.csv:2: no column age in the header, which has label, Age, sex',
      hint: 'did you mean Age? Names are compared letter by letter',
    });
  });

  test('with many or long names, of which some are shown', () => {
    const names = Array.from({ length: 30 }, (_, n) => `n${n}`);
    const { message } = complaint(`${'x'.repeat(100)},${names.join(',')}\n`);
    expect(message).toBe(
      `a.csv:1: no column label in the header, which has ${'x'.repeat(40)}…, ${names.slice(0, 11).join(', ')} and 19 more`,
    );
  });

  test.each([
    [';', 'label;age;sex\n'],
    ['\t', 'label\tage\tsex\n'],
    ['|', 'label|age|sex\n'],
  ])('that is divided by %j, with a hint', (delimiter, text) => {
    const hint = `the fields seem to be separated by ${JSON.stringify(delimiter)}: set data.csv.delimiter; for predict, pass --delimiter`;
    expect(complaint(text).hint).toBe(hint);
  });

  test('that is a record, with a hint', () => {
    expect(complaint('0,39,Male\n').hint).toBe(
      'if the file has no line of names, set data.csv.header to false and give positions',
    );
  });

  test('with a name twice', () => {
    expect(complaint('label,age,sex,age\n')).toEqual({
      message: 'a.csv:1: the header has age twice',
      hint: 'choose one by its position: set position: 2 at data.columns.age',
    });
  });

  test('with a position that is missing, though the header has names', () => {
    const columns = [LABEL, number('age', { position: 9 })];
    const { message, hint } = complaint('label,age\n', { columns });
    expect(message).toBe('a.csv:1: 2 fields, column age is at position 9');
    expect(hint).not.toContain('header is false');
  });

  test('with two columns at the same place', () => {
    const columns = [LABEL, number('age'), category('old', { position: 2 })];
    expect(complaint('label,age\n', { columns }).message).toBe('a.csv:1: columns age and old are both at position 2');
  });

  test.each([
    ['label,"age,sex\n1,2,m\n', 'a.csv:1:7: a quote is not closed in the header'],
    ['label,"age"x,sex\n', 'a.csv:1:12: text follows a closing quote in the header'],
    ['\n\n  "age"x,sex\n', 'a.csv:3:8: text follows a closing quote in the header'],
  ])('%j, with its place', (text, message) => {
    expect(complaint(text)).toMatchObject({ message, hint: expect.stringContaining('data.csv.quote') });
  });

  test('with more fields than any file may have', () => {
    expect(complaint(`${'a,'.repeat(5000)}\n`).message).toBe('a.csv:1: expected at most 4096 fields, got 5001');
  });

  test('longer than any may be', () => {
    const { message } = complaint('a'.repeat(HEAD_BYTES), { isWhole: false });
    expect(message).toBe(`a.csv:1: the first line does not end within ${HEAD_BYTES} bytes`);
    expect(complaint(`"${'a\n'.repeat(HEAD_BYTES / 2)}`, { isWhole: false }).message).toBe(message);
    expect(complaint('\n'.repeat(HEAD_BYTES), { isWhole: false }).message).toContain('does not end');
  });

  test('not while it may go on behind a first look', () => {
    expect(head('label,"age\n', { isWhole: false })).toBeUndefined();
    expect(complaint('label,"age\n').message).toContain('not closed');
  });

  test('of many quoted names that is never ended, in one pass', () => {
    const text = Buffer.from(`${'"a",'.repeat(HEAD_BYTES / 4)}`);
    expect(complaint(text, { isWhole: false }).message).toContain('does not end');
  });

  test.each([
    ['little', Buffer.from('\ufefflabel,age,sex\n', 'utf16le')],
    ['big', Buffer.from('\ufefflabel,age,sex\n', 'utf16le').swap16()],
    ['unmarked', Buffer.from('label,age,sex\n', 'utf16le')],
  ])('in UTF-16 (%s endian), saying how to make UTF-8 of it', (_, bytes) => {
    expect(complaint(bytes)).toEqual({ message: 'a.csv is UTF-16 text', hint: expect.stringContaining('iconv') });
  });
});

test('files that are no text are called what they are', () => {
  for (const [bytes, what] of [
    ['\0\0\x08\x03\0\0', 'an idx file (MNIST)'],
    ['PK\x03\x04abc', 'a zip archive'],
    ['<!doctype html><html>', 'a web page'],
    ['label,\x01\x02\x03\n', 'a binary file'],
  ] as const) {
    expect(() =>
      headOf('a.csv', Buffer.from(bytes, 'latin1'), true, { columns: [LABEL, number('age')], dialect: CSV }),
    ).toThrow(`a.csv is ${what}`);
  }
});

test('a column of one letter is not taken for any other one', () => {
  expect(complaint('y,x\n', { columns: [LABEL, number('c')] }).hint).not.toContain('did you mean');
});
