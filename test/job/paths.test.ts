/** Columns by their paths, and the texts of what is missing: what of them is refused, with its place. */
import { expect, test } from 'vitest';
import { complaintOf, type How } from './column-jobs.ts';

const XY = 'x: number\ny: label';

test.each<[string, string, string, How?]>([
  [
    'what is missing, twice',
    XY,
    '3:49: data.missing: data.csv.missing already sets this',
    { csv: '{ missing: [x] }', data: 'test: b.csv, missing: [y]' },
  ],
  [
    'a path of fields',
    'y: label\nx: { type: number, path: a.b }',
    '7:30: data.columns.x.path: not supported for format csv: expected position or from',
  ],
  [
    'a position of keys',
    'y: label\nx: { type: number, position: 2 }',
    '7:34: data.columns.x.position: not supported for format jsonl: expected path or from',
    { format: 'jsonl' },
  ],
  [
    'a path with an empty key',
    'y: label\nx: { type: number, path: a..b }',
    '7:30: data.columns.x.path: expected keys separated by single dots',
    { format: 'jsonl' },
  ],
  [
    'a path of too many keys',
    `y: label\nx: { type: number, path: ${Array(17).fill('k').join('.')} }`,
    '7:30: data.columns.x.path: expected at most 16 keys, got 17',
    { format: 'jsonl' },
  ],
  [
    'a path twice',
    'y: label\nx: { type: number, path: a.b }\nz: { type: number, path: a.b }',
    '8:30: data.columns.z.path: the column x has the same value',
    { format: 'jsonl' },
  ],
  [
    'a path through a value',
    'y: label\nx: { type: number, path: a.b }\nz: { type: number, path: a.b.c }',
    '8:30: data.columns.z.path: give x another value',
    { format: 'jsonl' },
  ],
  [
    'a path to an object of values',
    'y: label\nx: { type: number, path: a.b }\na: category',
    '8:8: data.columns.a: give x another value',
    { format: 'jsonl' },
  ],
  [
    'fields of lines of keys',
    XY,
    '4:3: data.csv: only for format csv, tsv or interactions',
    { format: 'jsonl', csv: '{ header: true }' },
  ],
])('%s', (_, columns, message, how) => {
  expect(complaintOf(columns, how)).toBe(message);
});
