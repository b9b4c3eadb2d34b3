/** Networks and batches for tests: every type of layer is in one of them. */

import type { ModelColumn } from '../../../src/model/layers/columns.ts';
import { createNetworkModel } from '../../../src/model/layers/network-model.ts';
import type { LayerSpec } from '../../../src/model/layers/specs.ts';
import type { Batch, Model } from '../../../src/model/model.ts';
import { FIELDS, randomDenseBatch, randomSparseBatch } from '../batches.ts';

const COLUMNS = Array.from({ length: FIELDS }, (_, field) => `column${field}`);
export const SEED = 11;

export interface NetworkCase {
  readonly what: string;
  readonly task: Model['task'];
  readonly outputs: number;
  readonly layers: readonly LayerSpec[];
  /** The data has columns. */
  readonly hasColumns?: true;
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
  {
    what: 'two layers that read the same two in other places',
    task: 'regression',
    outputs: 1,
    layers: [
      { type: 'numbers', name: 'x' },
      { type: 'dense', name: 'a', units: 2 },
      { type: 'dense', name: 'b', from: 'x', units: 3 },
      { type: 'concat', name: 'c', from: ['a', 'b'] },
      { type: 'dense', name: 'd', units: 1 },
      { type: 'concat', name: 'e', from: ['b', 'a'] },
      { type: 'dense', name: 'f', units: 1 },
      { type: 'add', from: ['d', 'f'] },
    ],
  },
  { what: 'linear', task: 'binary', outputs: 1, layers: [{ type: 'linear' }] },
  {
    what: 'a tower over all features as one',
    task: 'multiclass',
    outputs: 3,
    layers: [{ type: 'embedding', width: 7 }, { type: 'tanh' }, { type: 'dense' }],
  },
  {
    what: 'embeddings by column, as means, beside numbers',
    hasColumns: true,
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
    hasColumns: true,
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
    hasColumns: true,
    task: 'regression',
    outputs: 1,
    layers: [
      { type: 'embedding', name: 'one', width: 3, columns: COLUMNS.slice(0, 1) },
      { type: 'embedding', name: 'others', width: 3, columns: COLUMNS },
      { type: 'concat', from: ['one', 'others'] },
      { type: 'fm' },
    ],
  },
];

export const INPUT_WIDTH = 5;

const DATA_COLUMNS: readonly ModelColumn[] = [
  ...COLUMNS.map((name) => ({ name, kind: 'category', floats: 0 }) as const),
  ...Array.from({ length: INPUT_WIDTH }, (_, at) => ({ name: `number${at}`, kind: 'number', floats: 1 }) as const),
];

export const networkOf = ({ what, task, layers, outputs, hasColumns }: NetworkCase): Model =>
  createNetworkModel(
    { type: what, task, layers },
    {
      ...{ inputWidth: INPUT_WIDTH, classes: outputs, seed: SEED },
      columns: hasColumns ? DATA_COLUMNS : undefined,
    },
  );

/** With the inputs that the network looks up: features with their fields, and numbers. */
export function batchOf(
  { task, outputs, layers }: NetworkCase,
  { lookups }: Pick<Model, 'lookups'>,
  { records, seed }: { readonly records: number; readonly seed: number },
): Batch {
  const classes = task === 'multiclass' ? outputs : task === 'binary' ? 2 : 0;
  const numbers = randomDenseBatch({ records, ids: 0, seed, classes, width: INPUT_WIDTH });
  const inputs = Array.from({ length: Math.max(-1, ...lookups) + 1 }, (_, input) =>
    randomSparseBatch({ records, ids: 12, seed: seed + input, classes }),
  );
  const { labels, width, values } = numbers;
  return {
    records,
    labels,
    sparse: inputs,
    dense: layers.some(({ type }) => type === 'numbers') ? [{ width, values }] : [],
  };
}
