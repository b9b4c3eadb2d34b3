/** What is said of typing errors in the columns of a job file. */
import { describe, expect, test } from 'vitest';
import { complaint, complaintOf, type How, TYPES } from './column-jobs.ts';

describe('typing errors', () => {
  test.each<[string, string, How?]>([
    ['x: nubmer', `7:8: data.columns.x: expected one of ${TYPES}, got "nubmer"; did you mean number?`],
    ['x: { type: nubmer }', `7:16: data.columns.x.type: expected one of ${TYPES}, got "nubmer"; did you mean number?`],
    ['x: { typ: number }', '7:10: data.columns.x.typ: unknown field; did you mean type?'],
    ['x: { normalize: log }', `7:5: data.columns.x.type: is required: expected one of ${TYPES}`],
    ['x: { type: number, quantile: 3 }', '7:24: data.columns.x.quantile: unknown field; did you mean quantiles?'],
    ['x.y: { type: number, quantile: 3 }', '7:26: data.columns.x.y.quantile: unknown field; did you mean quantiles?'],
    ['x: { type: number, buckets: 3 }', '7:24: data.columns.x.buckets: is not a field of data.columns.x type "number"'],
    [
      'x: { type: category, cross: [a, b] }',
      '7:26: data.columns.x.cross: is not a field of data.columns.x type "category"',
    ],
    ['x: { cross: [a, b], bucket: 3 }', '7:25: data.columns.x.bucket: unknown field; did you mean buckets?'],
    ['x: { cross: [a] }', '7:17: data.columns.x.cross: expected at least 2 entries, got ["a"]'],
    ['x: { type: number, position: 0 }', '7:34: data.columns.x.position: expected at least 1, got 0'],
    [
      'x: { type: categories, separator: ab }',
      '7:39: data.columns.x.separator: expected one ASCII character that is neither a letter nor a digit, got "ab"',
    ],
    ['x: number', '4:10: data.csv.delimeter: unknown field; did you mean delimiter?', { csv: '{ delimeter: ";" }' }],
    ['x: number', '4:18: data.csv.header: expected true or false, got "no"', { csv: '{ header: no }' }],
    [
      'x: number',
      '4:17: data.csv.quote: expected one ASCII character that is neither a letter nor a digit, got "non"',
      { csv: '{ quote: non }' },
    ],
  ])('%s: %s', (column, message, how) => {
    expect(complaintOf(`y: label\n${column}`, how)).toBe(message);
  });

  test.each([
    ['y, x', 'y: number, got a list that begins with "y"'],
    ['{ name: y, type: label }', 'y: label, got a list that begins with {"name":"y","type":"label"}'],
    ['{ name: "a b" }, 7', '"a b": number, got a list that begins with {"name":"a b"}'],
    ['null', 'age: number, got a list that begins with null'],
    ['', 'age: number, got an empty list'],
  ])('a list of columns: [%s]', (list, message) => {
    const text = `name: a\nmodel: { type: lr }\ndata: { format: csv, train: a, columns: [${list}] }\n`;
    expect(complaint(text)).toBe(`3:41: data.columns: expected a mapping of names to types, such as ${message}`);
  });
});
