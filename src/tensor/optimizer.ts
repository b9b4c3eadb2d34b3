/**
 * The optimizers: their settings, the state that each keeps beside a value, and which one updates which parameter. The
 * update rules are in `kernels/assembly/optimizer.ts`.
 */
import { assert } from '../base/assert.ts';
import type { Admission, AdmissionRules } from './admission/admission.ts';
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

interface ParameterChoice {
  readonly optimizer?: OptimizerSpec | undefined;
}

interface TableChoice extends ParameterChoice {
  readonly admission?: Admission | undefined;
  /** With any eviction rule, rows have a `seen`. */
  readonly eviction?: object | undefined;
  /** Bound of the table, which its shards share equally. */
  readonly maxBytes?: number | undefined;
}

/** How the job trains its parameters. */
export interface TrainingChoice {
  /** Optimizer of all parameters that are not named below. */
  readonly optimizer: OptimizerSpec;
  /** Keyed by name of a sparse table. */
  readonly tables?: Readonly<Record<string, TableChoice>>;
  /** Keyed by name of a dense parameter. */
  readonly blocks?: Readonly<Record<string, ParameterChoice>>;
  /** Required if a table has a `maxBytes`. */
  readonly cluster?: { readonly shards: number };
  /** With deltas, all tables have a `seen`: it tells which rows have changed since a file before. */
  readonly checkpoint?: { readonly delta?: object | undefined };
}

/** value − rate × (−statistic + value): the penalty takes the value as it is when a push comes, however stale. */
const ofStatistic = (rate: number): OptimizerSpec => ({ type: 'sgd', learningRate: rate, l2: 1 });

/** The model's parameters, each with its optimizer, and tables with their rules. A statistic has its own optimizer. */
export function trainedSpec({ dense, sparse }: ParameterSpec, choice: TrainingChoice): TrainedSpec {
  return {
    dense: dense.map((one) => {
      const { name, statisticRate: rate } = one;
      const optimizer = ownOf(choice.blocks, name).optimizer ?? choice.optimizer;
      return { ...one, optimizer: rate === undefined ? optimizer : ofStatistic(rate) };
    }),
    sparse: sparse.map((one) => {
      const { optimizer = choice.optimizer, ...rules } = ownOf(choice.tables, one.name);
      const hasDeltas = choice.checkpoint?.delta !== undefined;
      return { ...one, optimizer, ...(hasDeltas && { hasSeen: true }), ...tableRules(rules, choice.cluster?.shards) };
    }),
  };
}

function ownOf<T extends object>(names: Readonly<Record<string, T>> | undefined, name: string): Partial<T> {
  return names !== undefined && Object.hasOwn(names, name) ? names[name]! : {};
}

function tableRules({ admission, eviction, maxBytes }: TableChoice, shards: number | undefined): Partial<TrainedTable> {
  assert(maxBytes === undefined || shards !== undefined, 'the bound of a table is shared by the shards');
  return {
    ...(eviction === undefined && maxBytes === undefined ? {} : { hasSeen: true }),
    ...(admission === undefined ? {} : { admission }),
    ...(maxBytes === undefined ? {} : { shardBytes: Math.floor(maxBytes / shards!) }),
  };
}
