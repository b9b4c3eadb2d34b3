/**
 * What a model is to paddlet (docs/design.md §10): parameters it declares, and a function from a mini-batch and pulled
 * values to loss and gradients. Pure: no clock, no randomness, summation in a fixed order, so the same input gives the
 * same bits.
 */
import type { ArrayMemory } from '../tensor/array-memory.ts';
import type { ParameterSpec } from '../tensor/spec.ts';

/**
 * Records in compressed sparse row form. Ids are never BigInts on the hot path: `ids` holds u64 little-endian bytes and
 * `columns` refers to the distinct ids of the batch.
 */
export interface SparseBatch {
  readonly records: number;
  /** records + 1 offsets into `columns` and `values`. */
  readonly offsets: Uint32Array;
  /** For each feature, the index of its id among the batch's distinct ids. */
  readonly columns: Uint32Array;
  /** Undefined when every value is 1: the same bits as with ones, faster. */
  readonly values: Float32Array | undefined;
  /** Distinct ids, u64 little-endian, in order of first appearance. */
  readonly ids: Uint8Array;
  readonly distinct: number;
  /** One label a record: ±1 data is given as 0/1; class number for softmax; target for regression. */
  readonly labels: Float32Array;
}

/** Records as dense rows. */
export interface DenseBatch {
  readonly records: number;
  readonly width: number;
  /** records × width. */
  readonly inputs: Float32Array;
  readonly labels: Float32Array;
}

export type Batch =
  | { readonly kind: 'sparse'; readonly data: SparseBatch }
  | { readonly kind: 'dense'; readonly data: DenseBatch };

/**
 * Values as pulled: dense parameters whole, in declared order; for each table the rows of `batch.ids`, in their
 * order.
 */
export interface PulledValues {
  readonly dense: readonly Float32Array[];
  readonly sparse: readonly Float32Array[];
}

/** Sums of metrics over records; merged by adding field by field, in task order. */
export interface MetricSums {
  readonly records: number;
  /** Σ of the model's loss per record, without regularization. */
  readonly loss: number;
  /** Records whose predicted class is the label. */
  readonly correct: number;
  /** Σ (prediction − label)². */
  readonly squaredError: number;
}

/** The arrays may be the model's own, valid until its next step: `ownStep` copies them. */
export interface StepResult {
  /** Gradients of the mean loss over the batch's records, same shapes as the values. */
  readonly dense: readonly Float32Array[];
  readonly sparse: readonly Float32Array[];
  readonly metrics: MetricSums;
}

export interface Model {
  readonly type: string;
  readonly input: 'sparse' | 'dense';
  readonly task: 'binary' | 'multiclass' | 'regression';
  readonly parameters: ParameterSpec;
  /** Arrays of batches and values that are in this memory are used in place; others are copied in for each call. */
  readonly memory?: ArrayMemory;
  /** Forward and backward. What it returns refers to no array of `values`: later values are put in their place. */
  step(batch: Batch, values: PulledValues): StepResult;
  /**
   * Forward only. `scores` has one number a record: probability (binary), prediction (regression), or the probability
   * of the label's class (multiclass).
   */
  evaluate(batch: Batch, values: PulledValues): { readonly metrics: MetricSums; readonly scores: Float32Array };
}

/** The same with arrays of its own, which later steps do not touch. */
export const ownStep = ({ dense, sparse, metrics }: StepResult): StepResult => ({
  dense: dense.map((gradient) => gradient.slice()),
  sparse: sparse.map((gradient) => gradient.slice()),
  metrics,
});
