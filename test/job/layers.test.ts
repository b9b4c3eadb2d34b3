/** Models of layers in the job file: what fits, and what is said of what does not. */
import { expect, test } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';

const SMALL = `name: a9a-lr
data: { train: a9a.gz, format: libsvm }
model: { type: lr }
`;
const TABLE = SMALL.replace('libsvm', 'csv, columns: { a: category, x: number, y: label }');
/** Of a table, with these lines of layers. */
const layered = (lines: string): string => TABLE.replace('{ type: lr }', `\n  type: layers\n  layers:\n    ${lines}`);

test.each<[string, string, string]>([
  [
    'an unknown layer',
    layered('- { type: numbers }\n    - { type: dens }'),
    'job.yaml:7:15: model.layers.1.type: expected one of numbers, embedding, linear, dense, relu, sigmoid, tanh, ' +
      'layerNorm, batchNorm, dropout, concat, add, fm, got "dens"; did you mean dense?',
  ],
  [
    'layers that do not fit',
    layered('- { type: numbers }\n    - { type: dense, from: tower }'),
    'job.yaml:6:5: model.layers: the layer dense1 reads tower, but no earlier layer has that name; before it: numbers1',
  ],
  [
    'two parameters of one name',
    layered('- { type: embedding, name: a.W, width: 2 }\n    - { type: dense, name: a }'),
    'model.layers: two parameters have the name a.W',
  ],
  [
    'no column for the tower',
    TABLE.replace('a: category, x: number, ', '').replace('lr }', 'wide_deep }'),
    'model.type: the deep part of the model does not have an input column',
  ],
  [
    'a machine of one vector',
    TABLE.replace('lr }', 'deepfm }'),
    'model.type: expected at least two columns with embedding vectors for deepfm, got 1',
  ],
  [
    'a column that a layer does not find',
    layered('- { type: linear, columns: [a, c] }'),
    'job.yaml:6:5: model.layers: the layer linear1 names c, which is not a column that a model reads; choose from a, x',
  ],
  [
    'a column that a model does not find',
    TABLE.replace('lr }', 'wide_deep, columns: { wide: [c] } }'),
    'job.yaml:3:36: model.columns: the layer w names c, which is not a column that a model reads; choose from a, x',
  ],
  [
    'a deep model of data without columns',
    SMALL.replace('lr }', 'deepfm }'),
    'job.yaml:3:16: model.type: deepfm needs columns: expected data.format csv, tsv, interactions, jsonl, parquet or columns, not libsvm',
  ],
  [
    'numbers and features of data without columns',
    `${SMALL.replace('lr }', 'layers, layers: [{ type: linear }, { type: numbers }, { type: dense }, { type: add, from: [linear1, dense1] }] }')}`,
    'job.yaml:3:16: model.type: layers needs columns: expected data.format csv, tsv, interactions, jsonl, parquet or columns, not libsvm',
  ],
])('%s', (_, text, message) => {
  expect(() => parseJobFile('job.yaml', text)).toThrow(message);
});

test.each([
  [
    'a list of layers',
    layered(
      '- { type: linear }\n    - { type: numbers }\n    - { type: dense, from: [numbers1] }\n    - { type: add, from: [linear1, dense1] }',
    ),
  ],
  [
    'features as one',
    SMALL.replace('lr }', 'layers, layers: [{ type: embedding, width: 4 }, { type: relu }, { type: dense }] }'),
  ],
  [
    'classes as many as the last layer has units',
    layered('- { type: numbers }\n    - { type: dense, units: 7 }\n  task: multiclass'),
  ],
  ['Wide & Deep of one column each', TABLE.replace('lr }', 'wide_deep, columns: { wide: [a], deep: [x] } }')],
])('%s', (_, text) => {
  expect(parseJobFile('job.yaml', text).model).toMatchObject({ type: expect.stringMatching(/layers|wide_deep/) });
});
