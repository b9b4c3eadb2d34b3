/**
 * The optimizers: their settings, the state that each keeps beside a value, and which one updates which parameter. The
 * update rules are in `kernels/assembly/optimizer.ts`.
 */
import type { AdmissionRules } from './admission/admission.ts';
import type { DenseSpec, ParameterSpec, SparseSpec } from './spec.ts';

export type OptimizerSpec =
  | { readonly type: 'sgd'; readonly learningRate: number; readonly l2: number }
  | { readonly type: 'momentum'; readonly learningRate: number; readonly momentum: number; readonly l2: number }
  | {
      readonly type: 'adagrad';
      readonly learningRate: number;
      readonly initialAccumulator: number;
      readonly epsilon: number;
      readonly l2: number;
    }
  | {
      readonly type: 'adam';
      readonly learningRate: number;
      readonly beta1: number;
      readonly beta2: number;
      readonly epsilon: number;
      readonly l2: number;
    }
  | {
      readonly type: 'adamw';
      readonly learningRate: number;
      readonly beta1: number;
      readonly beta2: number;
      readonly epsilon: number;
      readonly weightDecay: number;
    }
  | {
      readonly type: 'ftrl';
      readonly alpha: number;
      readonly beta: number;
      readonly lambda1: number;
      readonly lambda2: number;
    };

/** A parameter and the optimizer that updates it. */
export type Trained<T extends DenseSpec | SparseSpec> = T & { readonly optimizer: OptimizerSpec };

export type TrainedTable = Trained<SparseSpec> &
  AdmissionRules & {
    /**
     * Whether each row has a `seen`, the shard's number of the last update that named it. Then rows may be removed. A
     * table with a bound has it.
     */
    readonly hasSeen?: boolean;
  };

/** What a model declares, and how a job trains it. */
export interface TrainedSpec {
  readonly dense: readonly Trained<DenseSpec>[];
  readonly sparse: readonly TrainedTable[];
}

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

/** Optimizers as the job names them. */
export interface OptimizerChoice {
  /** Optimizer of all parameters that are not named below. */
  readonly optimizer: OptimizerSpec;
  /** Keyed by name of a sparse table. */
  readonly tables?: ByName;
  /** Keyed by name of a dense parameter. */
  readonly blocks?: ByName;
}

/** value − rate × (−statistic + value): the penalty takes the value as it is when a push comes, however stale. */
const ofStatistic = (rate: number): OptimizerSpec => ({ type: 'sgd', learningRate: rate, l2: 1 });

/** The model's parameters, each with its optimizer. A statistic has its own. */
export function trainedSpec({ dense, sparse }: ParameterSpec, choice: OptimizerChoice): TrainedSpec {
  const chosen = (names: ByName | undefined, name: string): OptimizerSpec =>
    names !== undefined && Object.hasOwn(names, name) ? names[name]!.optimizer : choice.optimizer;
  return {
    dense: dense.map((one) => {
      const { name, statisticRate: rate } = one;
      return { ...one, optimizer: rate === undefined ? chosen(choice.blocks, name) : ofStatistic(rate) };
    }),
    sparse: sparse.map((one) => ({ ...one, optimizer: chosen(choice.tables, one.name) })),
  };
}
