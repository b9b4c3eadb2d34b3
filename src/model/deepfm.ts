/**
 * DeepFM (Guo et al., IJCAI 2017): a factorization machine and a tower of dense layers over the same vectors, trained
 * together. Their outputs are added.
 */
import { PaddletError } from '../base/errors.ts';
import type { ModelColumn } from './layers/columns.ts';
import { createNetworkModel, type NetworkFacts } from './layers/network-model.ts';
import type { LayerSpec } from './layers/specs.ts';
import type { Model } from './model.ts';
import { ANY_COLUMNS, deepPart, listed, partsOf, WIDE_DEEP_DEFAULTS, type WideDeepOptions } from './wide-deep.ts';

/** Columns `wide` have a weight each, columns `deep` vectors, or are numbers of the tower. */
export interface DeepFmOptions extends Omit<WideDeepOptions, 'embedding'> {
  /** Width of a category's vector. */
  readonly factors: number;
}

export function deepFmLayers(columns: readonly ModelColumn[], options: Partial<DeepFmOptions> = {}): LayerSpec[] {
  const all = { ...WIDE_DEEP_DEFAULTS, factors: 8, ...options };
  const { wide, vectors, numbers } = partsOf(columns, all.columns);
  const { factors: width, initStddev, pooling } = all;
  if (vectors.length < 2) {
    throw new PaddletError(
      'JobInvalid',
      `expected at least two columns with embedding vectors for deepfm, got ${vectors.length}`,
      {
        hint: 'list two columns of categories, or of numbers with quantiles, in model.columns.deep, or use model.type wide_deep',
      },
    );
  }
  return [
    ...listed(wide, { type: 'linear', name: 'w', columns: wide }),
    { type: 'embedding', name: 'v', columns: vectors, width, initStddev, pooling },
    { type: 'fm', name: 'pairs' },
    ...listed(numbers, { type: 'numbers', name: 'numbers', columns: numbers }),
    ...deepPart(vectors, numbers, all),
    { type: 'add', from: [...(wide.length === 0 ? [] : ['w']), 'pairs', 'deep'] },
  ];
}

/** Throws `JobInvalid` when columns are named that there are not, or none has vectors. */
export function createDeepFm(facts: NetworkFacts, options: Partial<DeepFmOptions> = {}): Model {
  const { columns = ANY_COLUMNS } = facts;
  const { task = 'binary' } = options;
  const layers = deepFmLayers(columns, options);
  return createNetworkModel({ type: 'deepfm', task, layers }, { ...facts, columns });
}
