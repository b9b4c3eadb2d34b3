/** Jobs with a model that reads the fields of features. */
import { expect, test } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';
import { FFM_DEFAULTS } from '../../src/model/ffm.ts';

const jobOf = (format: string): string => `name: j\ndata: { train: t, format: ${format} }\nmodel: { type: ffm }\n`;

test.each(['libsvm', 'libfm', 'idx'])('%s has no fields', (format) => {
  const message =
    'ffm needs the fields of features: expected data.format libffm, csv, tsv, interactions, jsonl, parquet or columns, not';
  expect(() => parseJobFile('job.yaml', jobOf(format))).toThrow(`job.yaml:3:16: model.type: ${message} ${format}`);
});

test('the defaults of a job are those of the model', () => {
  const { model } = parseJobFile('job.yaml', jobOf('libffm'));
  expect(model).toEqual({ type: 'ffm', task: 'binary', factors: 4, initScale: 1, normalize: true });
  expect({ type: 'ffm', ...FFM_DEFAULTS }).toEqual(model);
});
