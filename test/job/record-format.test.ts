/** `data.format: recordio` is a job of the format that the records have. */
import { expect, test } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';
import { jobSchema, parseJob } from '../../src/job/schema.ts';
import { asPublished } from '../cluster/job/stored-job.ts';

const load = (data: string) => parseJobFile('job', `name: a\ndata: { train: x, ${data} }\nmodel: { type: lr }\n`);
const COLUMNS = 'columns: { y: label, x: number }';
const RECORDS = 'libsvm, libfm, libffm, csv, tsv, interactions, jsonl, json';

test.each([
  ['libsvm', 'libsvm', ''],
  ['libfm', 'libfm', ''],
  ['libffm', 'libffm', ''],
  ['csv', 'csv', COLUMNS],
  ['tsv', 'tsv', COLUMNS],
  ['jsonl', 'jsonl', COLUMNS],
  ['json', 'jsonl', COLUMNS],
])('records of %s', (record, format, more) => {
  expect(load(`format: recordio, record: ${record}, ${more}`)).toEqual(load(`format: ${format}, ${more}`));
});

test.each([
  ['format: recordio', `data.record: is required with format recordio: expected ${RECORDS}`],
  ['format: recordio, record: idx', `data.record: expected one of ${RECORDS}, got "idx"`],
  ['format: csv, record: csv', 'data.record: only for format recordio, got "csv"'],
  ['format: recordio, record: csv', 'data.format: csv needs data.columns'],
  ['format: libsvm, corruptChunks: drop', 'data.corruptChunks: expected one of fail, skip, got "drop"'],
])('%s', (data, message) => {
  expect(() => load(data)).toThrow(message);
});

test('a job that was stored before corruptChunks refuses corrupt chunks', () => {
  const { corruptChunks, ...data } = asPublished(load('format: libsvm, corruptChunks: skip')).data;
  expect(corruptChunks).toBe('skip');
  const plain = asPublished(load('format: libsvm'));
  expect(parseJob(JSON.parse(JSON.stringify({ ...plain, data })))).toEqual(jobSchema.parse(plain));
});
