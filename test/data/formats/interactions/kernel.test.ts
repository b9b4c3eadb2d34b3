/** Lines of interactions as the kernel reads them, against the plain form alone, and against a plain division. */
import { expect, test } from 'vitest';
import { categoryId, halvesOf, missingId, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import { interactionsForm } from '../../../../src/data/formats/interactions/format.ts';
import { planFor } from '../../../../src/data/formats/text/form.ts';
import type { LinePlan } from '../../../../src/data/formats/text/plan.ts';
import * as fc from '../../../properties.ts';
import { category, expectSame, number } from '../csv/both-forms.ts';

const DIVIDED: Readonly<Record<string, RegExp>> = { '\t': /\t/, '::': /::/, ' ': / [ \t\r]*/, ',': /,/ };
const DELIMITERS = Object.keys(DIVIDED);

function planOf(delimiter: string, withNumber: boolean): LinePlan {
  const columns = [category('user'), category('item'), ...(withNumber ? [number('x')] : [])];
  const runs = delimiter === ' ' ? { runs: true as const } : {};
  const dialect = { header: false, delimiter, ...runs, quote: null, missing: [''], decimal: '.' } as const;
  const layout = { fields: columns.length, positions: columns.map((_, at) => at) };
  return planFor(interactionsForm, { columns, dialect }, layout, { task: 'binary' }, 'f');
}

const PIECES = [
  'a',
  'é',
  '7',
  ':',
  '::',
  ' ',
  '  ',
  '\t',
  ',',
  '"',
  '\r',
  '-1.5',
  '1e9',
  '\n',
  '\n',
  'long text of more than 15',
];

test('any text', () => {
  let [records, bads] = [0, 0];
  const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, fc.constantFrom(...DELIMITERS), fc.boolean(), (lines, delimiter, withNumber) => {
      const got = expectSame(Buffer.from(lines), planOf(delimiter, withNumber));
      records += got.records.length;
      bads += got.bads.length;
    }),
    { numRuns: 1500 },
  );
  expect(Math.min(records, bads) / (records + bads)).toBeGreaterThan(0.1);
});

test('values are what is between the delimiters, blanks around them aside', () => {
  const idOf = (name: string, text: string) => {
    const seed = vocabularySeed(name);
    return [...halvesOf(text === '' ? missingId(seed) : categoryId(Buffer.from(text), seed, undefined))];
  };
  const text = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 20 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, fc.constantFrom(...DELIMITERS), (lines, delimiter) => {
      const expected = lines.split('\n').flatMap((line) => {
        const isRun = delimiter === ' ';
        const blanks = delimiter === '\t' ? /^[ \r]+|[ \r]+$/g : /^[ \t\r]+|[ \t\r]+$/g;
        if (line.replace(blanks, '') === '') return [];
        const fields = (isRun ? line.replace(blanks, '') : line).split(DIVIDED[delimiter]!);
        if (fields.length < 2) return [];
        const [user, item] = fields.map((field) => field.replace(blanks, ''));
        return [[idOf('user', user!), idOf('item', item!)]];
      });
      const { records } = expectSame(Buffer.from(lines), planOf(delimiter, false));
      expect(records.map((record) => (record as { single: unknown }).single)).toEqual(expected);
    }),
    { numRuns: 600 },
  );
});
