/** What a job may say about weights of classes. */
import { expect, it } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';

const load = (
  training: string,
  more = 'data: { train: t, format: libsvm }\nmodel: { type: lr }',
  sets: string[] = [],
) => parseJobFile('job.yaml', `name: j\n${more}\ntraining: ${training}\n`, sets).training.classWeights;

const IMAGES = 'data: { train: i, trainLabels: l, format: idx }\nmodel: { type: softmax }';
const TEXTS =
  'data: { train: t, format: csv, columns: { x: number, y: { type: label, classes: [no, maybe, yes] } } }\n' +
  'model: { type: mlp }';

it('names classes by their numbers', () => {
  expect(load('{}')).toBeUndefined();
  expect(load('{ classWeights: { 1: 5 } }')).toEqual({ 1: 5 });
  expect(load('{ classWeights: { "1": 2, 0: 0.5 } }')).toEqual({ 0: 0.5, 1: 2 });
  expect(load('{ classWeights: { 9: 0.1 } }', IMAGES)).toEqual({ 9: 0.1 });
  expect(load('{ classWeights: { 2: 3 } }', TEXTS)).toEqual({ 2: 3 });
  expect(load('{}', undefined, ['training.classWeights.1=7'])).toEqual({ 1: 7 });
});

it.each<[string, string | undefined, string]>([
  ['{ -1: 2 }', undefined, '4:29: training.classWeights.-1: expected 0 or 1: records with label -1 belong to class 0'],
  ['{ 2: 2 }', undefined, '4:29: training.classWeights.2: expected 0 or 1, the classes of a binary model, got 2'],
  ['{ yes: 2 }', undefined, 'training.classWeights.yes: expected 0 or 1'],
  ['{ 1: 0 }', undefined, '4:32: training.classWeights.1: expected more than 0, got 0'],
  ['{ 1: -1 }', undefined, 'training.classWeights.1: expected more than 0, got -1'],
  ['{ 1: .inf }', undefined, 'training.classWeights.1: '],
  ['{ 1: 1e10 }', undefined, 'training.classWeights.1: expected at most 1000000000'],
  ['{ 1: a }', undefined, 'training.classWeights.1: expected a number'],
  ['[1, 2]', undefined, 'training.classWeights: expected fields'],
  ['{ 1.5: 2 }', IMAGES, 'training.classWeights.1.5: expected the number of a class, counted from 0, got 1.5'],
  ['{ "01": 2 }', IMAGES, 'training.classWeights.01: expected the number of a class'],
  ['{ maybe: 2 }', TEXTS, 'expected the number of a class, counted from 0, got maybe, which is 1'],
  ['{ 3: 2 }', TEXTS, 'training.classWeights.3: expected a class from 0 to 2: the label column has 3 classes'],
  [
    '{ 1: 2 }',
    'data: { train: t, format: libsvm }\nmodel: { type: fm, task: regression }',
    'training.classWeights: only for models with classes: fm has task regression',
  ],
])('%s is refused', (classWeights, more, message) => {
  expect(() => load(`{ classWeights: ${classWeights} }`, more)).toThrow(message);
});
