/**
 * Multilayer perceptron: dense layers with an activation between them, for records of numbers. The last layer makes one
 * output, or one for each class.
 */
import { PaddletError } from '../base/errors.ts';
import type { ActivationType } from './layers/activations.ts';
import { createNetworkModel } from './layers/network-model.ts';
import type { LayerSpec } from './layers/specs.ts';
import type { Model } from './model.ts';

export interface MlpOptions {
  readonly task: Model['task'];
  /** Units of each hidden layer. */
  readonly hidden: readonly number[];
  readonly activation: ActivationType;
  /** Before each activation. */
  readonly normalization: 'none' | 'layer' | 'batch';
  /** Share of each hidden layer's outputs that a training step leaves out. */
  readonly dropout: number;
}

export const MLP_DEFAULTS: MlpOptions = {
  task: 'multiclass',
  hidden: [128],
  activation: 'relu',
  normalization: 'none',
  dropout: 0,
};

interface MlpFacts {
  readonly inputWidth: number;
  readonly classes: number;
  readonly seed: number;
}

/** Throws `DataInvalid` when the data has no inputs, or fewer than two classes for a model of classes. */
export function createMlp(facts: MlpFacts, options: Partial<MlpOptions> = {}): Model {
  const { task = MLP_DEFAULTS.task } = options;
  const { inputWidth, classes } = facts;
  if (inputWidth < 1 || (task === 'multiclass' && classes < 2)) {
    throw new PaddletError('DataInvalid', `mlp needs inputs and classes, the data has ${inputWidth} and ${classes}`);
  }
  const outputs = task === 'multiclass' ? classes : 1;
  return createNetworkModel({ type: 'mlp', task, layers: mlpLayers(facts, options), outputs }, facts);
}

export function mlpLayers({ classes }: Pick<MlpFacts, 'classes'>, options: Partial<MlpOptions> = {}): LayerSpec[] {
  const all = { ...MLP_DEFAULTS, ...options };
  const units = all.task === 'multiclass' ? classes : 1;
  return [{ type: 'numbers' }, ...towerOf(all), { type: 'dense', name: 'output', units }];
}

/** The hidden layers: `hidden1`, `hidden2`, and so on. */
export const towerOf = ({ hidden, activation, normalization, dropout }: Omit<MlpOptions, 'task'>): LayerSpec[] =>
  hidden.flatMap((units, number): LayerSpec[] => {
    const name = `hidden${number + 1}`;
    return [
      { type: 'dense', name, units },
      ...(normalization === 'none' ? [] : [{ type: `${normalization}Norm`, name: `${name}.norm` } as const]),
      { type: activation },
      ...(dropout === 0 ? [] : [{ type: 'dropout', name: `${name}.dropout`, rate: dropout } as const]),
    ];
  });
