/** What a model declares: dense parameters and sparse tables (DESIGN §3). All f32. */
export type Initializer =
  | { readonly type: 'zeros' }
  | { readonly type: 'constant'; readonly value: number }
  | { readonly type: 'uniform'; readonly low: number; readonly high: number }
  | { readonly type: 'normal'; readonly mean: number; readonly stddev: number }
  /** Glorot & Bengio 2010, uniform: ±sqrt(6 / (fanIn + fanOut)); the fans are the last two dimensions of the shape. */
  | { readonly type: 'xavier' };

export interface DenseSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly initializer: Initializer;
}

export interface SparseSpec {
  readonly name: string;
  /** Floats in a row. */
  readonly width: number;
  readonly initializer: Initializer;
}

export interface ParameterSpec {
  readonly dense: readonly DenseSpec[];
  readonly sparse: readonly SparseSpec[];
}

/** A parameter and the optimizer that updates it. */
export type Trained<T extends DenseSpec | SparseSpec> = T & { readonly optimizer: OptimizerSpec };

/** What a model declares, and how a job trains it. */
export interface TrainedSpec {
  readonly dense: readonly Trained<DenseSpec>[];
  readonly sparse: readonly Trained<SparseSpec>[];
}

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
