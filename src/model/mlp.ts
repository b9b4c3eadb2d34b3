/** Multilayer perceptron: dense layers with an activation between them, for records of numbers. */
import type { ActivationType } from './layers/activations.ts';
import { createNetworkModel, type NetworkFacts } from './layers/network-model.ts';
import type { LayerSpec } from './layers/specs.ts';
import type { Model } from './model.ts';

export interface TowerOptions {
  /** Units of each hidden layer. */
  readonly hidden: readonly number[];
  readonly activation: ActivationType;
  /** Normalization before each activation. */
  readonly normalization: 'none' | 'layer' | 'batch';
  /** Share of each hidden layer's outputs that a training step leaves out. */
  readonly dropout: number;
}

export const TOWER_DEFAULTS: TowerOptions = { hidden: [128], activation: 'relu', normalization: 'none', dropout: 0 };

export interface MlpOptions extends TowerOptions {
  readonly task: Model['task'];
}

export const mlpLayers = (options: Partial<MlpOptions> = {}): LayerSpec[] => [
  { type: 'numbers' },
  ...towerOf({ ...TOWER_DEFAULTS, ...options }),
  { type: 'dense', name: 'output' },
];

/**
 * A perceptron on all numbers. Throws `DataInvalid` if there are none, or if a multiclass model has fewer than two
 * classes.
 */
export function createMlp(facts: NetworkFacts, options: Partial<MlpOptions> = {}): Model {
  const { task = 'multiclass' } = options;
  return createNetworkModel({ type: 'mlp', task, layers: mlpLayers(options) }, { ...facts, columns: undefined });
}

/** The hidden layers: `hidden1`, `hidden2`, and so on. */
export const towerOf = ({ hidden, activation, normalization, dropout }: TowerOptions): LayerSpec[] =>
  hidden.flatMap((units, number): LayerSpec[] => {
    const name = `hidden${number + 1}`;
    return [
      { type: 'dense', name, units },
      ...(normalization === 'none' ? [] : [{ type: `${normalization}Norm`, name: `${name}.norm` } as const]),
      { type: activation },
      ...(dropout === 0 ? [] : [{ type: 'dropout', name: `${name}.dropout`, rate: dropout } as const]),
    ];
  });
