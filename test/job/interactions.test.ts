/** `data.format: interactions`: what it has without being told, what may be said, and what is refused. */
import { expect, test } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';
import { parseJob } from '../../src/job/schema.ts';
import { asPublished } from '../cluster/job/stored-job.ts';

const load = (data = '', model = 'fm') =>
  parseJobFile('job', `name: a\ndata: { train: x, format: interactions, ${data} }\nmodel: { type: ${model} }\n`);
const category = (name: string, position: number) => ({ name, type: 'category', ids: 'hash', position });

test('a user, an item, and what happened', () => {
  const { data } = load();
  expect(data.columns).toEqual([category('user', 1), category('item', 2), { name: 'label', type: 'label', value: 1 }]);
  expect(data.groupBy).toBe('user');
  expect(data.dialect).toEqual({ header: false, delimiter: '\t', quote: null, missing: [''], decimal: '.' });
  expect(parseJob(JSON.parse(JSON.stringify(asPublished(load()))))).toEqual(asPublished(load()));
});

test('any number of blanks', () => {
  expect(load('csv: { delimiter: " ", quote: none }').data.dialect).toMatchObject({ delimiter: ' ', runs: true });
  expect(load('csv: { delimiter: "::", header: true }').data.dialect).toMatchObject({ delimiter: '::', header: true });
});

test.each([
  ['columns: { a: category, b: category }', 'a'],
  ['columns: { b: { type: category, position: 2 }, a: { type: category, position: 1, ids: integer } }', 'a'],
  ['columns: { a: category, b: category }, groupBy: b', 'b'],
  ['columns: { a: { type: category, buckets: 9 }, b: category }', undefined],
  ['columns: { a: number, b: category }', undefined],
  ['columns: { a: category, b: group }', undefined],
  ['csv: { header: true }, columns: { a: category, b: category }', 'a'],
  ['csv: { header: true }, columns: { a: number, b: category }', undefined],
  ['csv: { header: true }', 'user'],
])('groups of %s', (data, groupBy) => {
  expect(load(data).data.groupBy).toBe(groupBy);
});

test.each([
  ['csv: { delimiter: "\\t\\t" }', 'data.csv.delimiter: expected one blank, which matches any number of blanks'],
  ['csv: { delimiter: ":;" }', 'data.csv.delimiter: expected one ASCII character'],
  ['csv: { quote: "\'" }', 'data.csv.quote: format interactions does not have quotes: use csv'],
  ['groupBy: label', 'data.groupBy: label is not a column of type category'],
  ['groupBy: films', 'data.groupBy: films is not a column of type category'],
  ['columns: { a: { type: category, buckets: 9 } }, groupBy: a', 'different values of a may share one of its buckets'],
  ['columns: { a: category, g: group }, groupBy: a', 'data.groupBy: the job already has a column of type group: g'],
  ['columns: { a: category, label: category }', 'data.columns: expected one column of type label'],
  [
    'columns: { a: category, y: { type: label, value: 1, position: 3 } }',
    'not with value, which sets the label of every',
  ],
  ['columns: { a: category, y: { type: label, value: 1, positive: ["1"] } }', 'not with value, which sets the label'],
  ['columns: { a: category, y: { type: label, value: 0 } }', 'data.columns.y.value: expected 1'],
  [
    'columns: { user: { type: category, path: a.b } }',
    'not supported for format interactions: expected position or from',
  ],
])('%s', (data, message) => {
  expect(() => load(data)).toThrow(message);
});

test('one label for all records is for binary models, in files without labels', () => {
  const job = (format: string, task: string) =>
    parseJobFile(
      'job',
      `name: a\nmodel: { type: lr, task: ${task} }\n` +
        `data: { train: x, format: ${format}, columns: { a: category, y: { type: label, value: 1 } } }\n`,
    );
  expect(job('jsonl', 'binary').data.columns).toContainEqual({ name: 'y', type: 'label', value: 1 });
  expect(() => job('jsonl', 'regression')).toThrow(
    'data.columns.y: expected a column of type label: all records have label 1',
  );
  expect(() => job('columns', 'binary')).toThrow(
    'data.columns.y.value: not supported for format columns: its files contain',
  );
});

test('only interactions have a delimiter of two characters, and only columns a category to group by', () => {
  const job = (data: string) =>
    parseJobFile('job', `name: a\nmodel: { type: lr }\ndata: { train: x, format: ${data} }\n`);
  expect(() => job('csv, csv: { delimiter: "::" }, columns: { a: category, y: label }')).toThrow(
    'data.csv.delimiter: expected one character: only format interactions can have "::"',
  );
  expect(() => job('libsvm, groupBy: a')).toThrow('data.groupBy: only for format csv,');
  expect(job('csv, groupBy: a, columns: { a: category, y: label }').data.groupBy).toBe('a');
});
