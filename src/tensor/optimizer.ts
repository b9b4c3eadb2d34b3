/** Which optimizer updates which parameter, and the state it keeps beside each value. */
import type { OptimizerSpec, ParameterSpec, TrainedSpec } from './spec.ts';

export interface OptimizerLayout {
  /** Slots in the order in which they follow the values in memory, each as long as the values. */
  readonly slots: readonly string[];
  /** Whether each row and block counts its updates. */
  readonly steps: boolean;
}

const LAYOUTS: Readonly<Record<OptimizerSpec['type'], OptimizerLayout>> = {
  sgd: { slots: [], steps: false },
  momentum: { slots: ['velocity'], steps: false },
  adagrad: { slots: ['accumulator'], steps: false },
  adam: { slots: ['m', 'v'], steps: true },
  adamw: { slots: ['m', 'v'], steps: true },
  ftrl: { slots: ['z', 'n'], steps: false },
};

export const optimizerLayout = (optimizer: OptimizerSpec): OptimizerLayout => LAYOUTS[optimizer.type];

/** FTRL has no learning rate that a push could scale. */
export const hasLearningRate = (optimizer: OptimizerSpec): boolean => optimizer.type !== 'ftrl';

type ByName = Readonly<Record<string, { readonly optimizer: OptimizerSpec }>>;

/** As the job names them. */
export interface OptimizerChoice {
  /** Of all parameters that are not named below. */
  readonly optimizer: OptimizerSpec;
  /** By name of a sparse table. */
  readonly tables?: ByName;
  /** By name of a dense parameter. */
  readonly blocks?: ByName;
}

/** The model's parameters, each with its optimizer. */
export function trainedSpec({ dense, sparse }: ParameterSpec, choice: OptimizerChoice): TrainedSpec {
  const chosen = (names: ByName | undefined, name: string): OptimizerSpec =>
    names !== undefined && Object.hasOwn(names, name) ? names[name]!.optimizer : choice.optimizer;
  return {
    dense: dense.map((one) => ({ ...one, optimizer: chosen(choice.blocks, one.name) })),
    sparse: sparse.map((one) => ({ ...one, optimizer: chosen(choice.tables, one.name) })),
  };
}
