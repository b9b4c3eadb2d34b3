/** What a model declares: dense parameters and sparse tables (docs/design.md §3). All f32. */
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
  /**
   * A running mean of what mini-batches have, such as their mean and variance: it moves this share of the way to it.
   * Its gradient is value − statistic, of which −statistic is pushed; the pserver adds the value that it has by then.
   */
  readonly statisticRate?: number;
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
