/** Networks and batches for tests: every type of layer is in one of them. */
import { createNetworkModel } from '../../../src/model/layers/network-model.ts';
import type { LayerSpec } from '../../../src/model/layers/specs.ts';
import type { Batch, Model } from '../../../src/model/model.ts';
import { FIELDS, randomDenseBatch, randomSparseBatch } from '../batches.ts';

export const COLUMNS = Array.from({ length: FIELDS }, (_, field) => `column${field}`);
export const SEED = 11;

export interface NetworkCase {
  readonly what: string;
  readonly task: Model['task'];
  readonly outputs: number;
  readonly layers: readonly LayerSpec[];
}

const tower = (...between: readonly LayerSpec[]): readonly LayerSpec[] => [
  { type: 'numbers' },
  { type: 'dense', units: 6 },
  ...between,
];

export const CASES: readonly NetworkCase[] = [
  { what: 'a dense layer', task: 'multiclass', outputs: 3, layers: [{ type: 'numbers' }, { type: 'dense', units: 3 }] },
  {
    what: 'relu between dense layers',
    task: 'multiclass',
    outputs: 3,
    layers: tower(
      { type: 'relu' },
      { type: 'dense', units: 9, bias: false },
      { type: 'relu' },
      { type: 'dense', units: 3 },
    ),
  },
  { what: 'sigmoid', task: 'binary', outputs: 1, layers: tower({ type: 'sigmoid' }, { type: 'dense', units: 1 }) },
  { what: 'tanh', task: 'regression', outputs: 1, layers: tower({ type: 'tanh' }, { type: 'dense', units: 1 }) },
  {
    what: 'layerNorm',
    task: 'binary',
    outputs: 1,
    layers: tower({ type: 'layerNorm' }, { type: 'tanh' }, { type: 'dense', units: 1 }),
  },
  {
    what: 'batchNorm',
    task: 'binary',
    outputs: 1,
    layers: tower({ type: 'batchNorm' }, { type: 'tanh' }, { type: 'dense', units: 1 }),
  },
  {
    what: 'dropout',
    task: 'multiclass',
    outputs: 4,
    layers: tower({ type: 'dropout', rate: 0.4 }, { type: 'tanh' }, { type: 'dense', units: 4 }),
  },
  {
    what: 'a layer that three others read',
    task: 'regression',
    outputs: 1,
    layers: tower(
      { type: 'tanh', name: 'shared' },
      { type: 'sigmoid', name: 'gate', from: 'shared' },
      { type: 'dense', name: 'side', from: 'shared', units: 6 },
      { type: 'add', from: ['gate', 'side', 'shared'] },
      { type: 'dense', units: 1 },
    ),
  },
  { what: 'linear', task: 'binary', outputs: 1, layers: [{ type: 'linear' }] },
  {
    what: 'embeddings by column, as means, beside numbers',
    task: 'binary',
    outputs: 1,
    layers: [
      { type: 'embedding', name: 'vectors', width: 5, columns: COLUMNS, pooling: 'mean' },
      { type: 'numbers', name: 'inputs' },
      { type: 'concat', from: ['inputs', 'vectors'] },
      { type: 'dense', units: 1 },
    ],
  },
  {
    what: 'wide, pairs and deep, with two tables',
    task: 'binary',
    outputs: 1,
    layers: [
      { type: 'linear', name: 'w', columns: COLUMNS },
      { type: 'embedding', name: 'v', width: 6, columns: COLUMNS },
      { type: 'fm', name: 'pairs', from: 'v' },
      { type: 'dense', from: 'v', units: 7 },
      { type: 'relu' },
      { type: 'dense', name: 'deep', units: 1, bias: false },
      { type: 'add', from: ['w', 'pairs', 'deep'] },
    ],
  },
  {
    what: 'pairs of vectors that are several layers',
    task: 'regression',
    outputs: 1,
    layers: [
      { type: 'embedding', name: 'one', width: 3 },
      { type: 'embedding', name: 'others', width: 3, columns: COLUMNS },
      { type: 'concat', from: ['one', 'others'] },
      { type: 'fm' },
    ],
  },
];

export const INPUT_WIDTH = 5;

export const networkOf = ({ what, task, layers, outputs }: NetworkCase): Model =>
  createNetworkModel({ type: what, task, layers, outputs }, { inputWidth: INPUT_WIDTH, seed: SEED });

/** With the inputs that the network looks up: features with their fields, and numbers. */
export function batchOf(
  { task, outputs }: NetworkCase,
  { lookups }: Pick<Model, 'lookups'>,
  { records, seed }: { readonly records: number; readonly seed: number },
): Batch {
  const classes = task === 'multiclass' ? outputs : task === 'binary' ? 2 : 0;
  const numbers = randomDenseBatch({ records, ids: 0, seed, classes, width: INPUT_WIDTH });
  const inputs = Array.from({ length: Math.max(-1, ...lookups) + 1 }, (_, input) =>
    randomSparseBatch({ records, ids: 12, seed: seed + input, classes }),
  );
  const { labels, width, values } = numbers;
  return { records, labels, sparse: inputs, dense: [{ width, values }] };
}
