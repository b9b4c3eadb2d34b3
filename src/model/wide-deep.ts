/**
 * Wide & Deep (Cheng et al., DLRS 2016): a linear model of some columns and a tower of dense layers over the vectors of
 * others, trained together. Their outputs are added.
 */
import { PaddletError } from '../base/errors.ts';
import type { ModelColumn } from './layers/columns.ts';
import { createNetworkModel, type NetworkFacts } from './layers/network-model.ts';
import type { LayerSpec } from './layers/specs.ts';
import { TOWER_DEFAULTS, type TowerOptions, towerOf } from './mlp.ts';
import type { Model } from './model.ts';
import type { OutputTask } from './sparse-loss.ts';

export interface WideDeepOptions extends TowerOptions {
  readonly task: OutputTask;
  /** Which columns feed what; by default categories both, crosses the wide part, numbers the deep part. */
  readonly columns: { readonly wide?: readonly string[] | undefined; readonly deep?: readonly string[] | undefined };
  /** Width of a category's vector. */
  readonly embedding: number;
  /** Vectors start normal with mean 0 and this deviation. */
  readonly initStddev: number;
  /** How the vectors of a column with several values are put together. */
  readonly pooling: 'sum' | 'mean';
}

export const WIDE_DEEP_DEFAULTS: WideDeepOptions = {
  ...TOWER_DEFAULTS,
  task: 'binary',
  columns: {},
  embedding: 8,
  initStddev: 0.01,
  pooling: 'mean',
};

/** Columns for an outline of the model, before the real columns are known. */
export const ANY_COLUMNS: readonly ModelColumn[] = ['one', 'another'].map((name) => ({
  ...{ name, kind: 'category', floats: 0 },
}));

export function wideDeepLayers(columns: readonly ModelColumn[], options: Partial<WideDeepOptions> = {}): LayerSpec[] {
  const all = { ...WIDE_DEEP_DEFAULTS, ...options };
  const { wide, vectors, numbers } = partsOf(columns, all.columns);
  const { embedding: width, initStddev, pooling } = all;
  return [
    ...listed(wide, { type: 'linear', name: 'w', columns: wide }),
    ...listed(vectors, { type: 'embedding', name: 'v', columns: vectors, width, initStddev, pooling }),
    ...listed(numbers, { type: 'numbers', name: 'numbers', columns: numbers }),
    ...deepPart(vectors, numbers, all),
    ...(wide.length === 0 ? [] : [{ type: 'add', from: ['w', 'deep'] } as const]),
  ];
}

/** Throws `JobInvalid` when columns are named that there are not. */
export function createWideDeep(facts: NetworkFacts, options: Partial<WideDeepOptions> = {}): Model {
  const { columns = ANY_COLUMNS } = facts;
  const { task = 'binary' } = options;
  const layers = wideDeepLayers(columns, options);
  return createNetworkModel({ type: 'wide_deep', task, layers }, { ...facts, columns });
}

interface Parts {
  readonly wide: readonly string[];
  /** Columns of the deep part: those that are looked up as vectors, and the numbers. */
  readonly vectors: readonly string[];
  readonly numbers: readonly string[];
}

/** A name that is that of no column is among the vectors: the layer says what is wrong with it. */
export function partsOf(columns: readonly ModelColumn[], { wide, deep }: WideDeepOptions['columns']): Parts {
  const namesOf = (...kinds: readonly ModelColumn['kind'][]): string[] =>
    columns.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
  const numbers = new Set(namesOf('number'));
  const inDeep = deep ?? namesOf('category', 'number');
  return {
    wide: wide ?? namesOf('category', 'cross'),
    vectors: inDeep.filter((name) => !numbers.has(name)),
    numbers: inDeep.filter((name) => numbers.has(name)),
  };
}

/** The layer, unless it has no column to read. */
export const listed = (columns: readonly string[], layer: LayerSpec): LayerSpec[] =>
  columns.length === 0 ? [] : [layer];

/** From vectors and numbers, which are side by side, to one output, `deep`. */
export function deepPart(
  vectors: readonly string[],
  numbers: readonly string[],
  tower: TowerOptions,
): readonly LayerSpec[] {
  if (vectors.length + numbers.length === 0) {
    throw new PaddletError('JobInvalid', 'the deep part of the model does not have an input column', {
      hint: 'list columns in model.columns.deep',
    });
  }
  const from = [...(vectors.length === 0 ? [] : ['v']), ...(numbers.length === 0 ? [] : ['numbers'])];
  return [{ type: 'concat', name: 'inputs', from }, ...towerOf(tower), { type: 'dense', name: 'deep' }];
}
