/**
 * What a model is to paddlet (docs/design.md §10): parameters it declares, and a function from a mini-batch and pulled
 * values to loss and gradients. Pure: no clock, no randomness but what the place of the batch decides, summation in a
 * fixed order, so the same input gives the same bits.
 */
import { type ArrayMemory, memoryOf } from '../tensor/array-memory.ts';
import type { IdList } from '../tensor/id-router.ts';
import type { ParameterSpec } from '../tensor/spec.ts';

/**
 * Features of the records of a batch that share a list of ids, in compressed sparse row form. `ids` are the distinct
 * ones in order of first appearance, `count` of them. Ids are never BigInts on the hot path.
 */
export interface SparseInput extends IdList {
  /** records + 1 offsets into `rows` and `values`. */
  readonly offsets: Uint32Array;
  /** For each feature, where its id is among the distinct ones. */
  readonly rows: Uint32Array;
  /** Undefined when every value is 1: the same bits as with ones, faster. */
  readonly values: Float32Array | undefined;
  /** For each feature, what it is a value of; there where the model reads them. */
  readonly fields?: Uint16Array | undefined;
}

/** Numbers of each record, as many for one as for another. */
export interface DenseInput {
  readonly width: number;
  /** records × width: floats, or bytes that stand for byte / 255 in f32, as of images. The bits are the same. */
  readonly values: Float32Array | Uint8Array;
}

/** The good records of a mini-batch, as the model wants them. */
export interface Batch {
  readonly records: number;
  /** One label a record: ±1 data is given as 0/1; class number for softmax; target for regression. */
  readonly labels: Float32Array;
  /** How much each record counts, at least 0; absent when each counts 1: the same bits as with ones, faster. */
  readonly weights?: Float32Array | undefined;
  /** The group of each record, as a user or a query, u64 little-endian; absent when none has one (`NO_GROUP`). */
  readonly groups?: Uint8Array | undefined;
  readonly sparse: readonly SparseInput[];
  readonly dense: readonly DenseInput[];
}

/**
 * Values as pulled: dense parameters whole, in declared order; for each table the rows of the distinct ids of the input
 * that it looks up, in their order.
 */
export interface PulledValues {
  readonly dense: readonly Float32Array[];
  readonly sparse: readonly Float32Array[];
}

/** Which mini-batch of a job it is: what is drawn at random for it depends on this and on the job's seed alone. */
export interface BatchPlace {
  readonly pass: number;
  readonly task: number;
  /** Number of the batch in the task, counted from 0. */
  readonly batch: number;
}

/** Records of this group have none. */
export const NO_GROUP = (1n << 64n) - 1n;

/** Records as a model scored them, for metrics that are not sums. */
export interface ScoredRecords {
  readonly scores: Float32Array;
  readonly labels: Float32Array;
  /** Undefined when each is 1. */
  readonly weights: Float32Array | undefined;
  /** u64 little-endian; undefined when no record has one. */
  readonly groups: Uint8Array | undefined;
}

/** Sums of metrics over records; merged by adding field by field, in task order. */
export interface MetricSums {
  readonly records: number;
  /** Σ weight. */
  readonly weight: number;
  /** Σ weight × the model's loss per record, without regularization. */
  readonly loss: number;
  /** Σ weight of the records whose predicted class is the label. */
  readonly correct: number;
  /** Σ weight × (prediction − label)². */
  readonly squaredError: number;
}

/**
 * The arrays belong to the caller. Those in the model's memory are free again when they are given back (`freeStep`), or
 * at some time after the last reference to them.
 */
export interface StepResult {
  /** Gradients of Σ weight × loss / records, same shapes as the values. */
  readonly dense: readonly Float32Array[];
  readonly sparse: readonly Float32Array[];
  readonly metrics: MetricSums;
}

/** What a model of columns takes, by names of columns. */
export interface ColumnInputs {
  /** For each sparse input, the columns whose features it has. A feature's field is the place of its column here. */
  readonly sparse: readonly (readonly string[])[];
  /** Columns of numbers that make the dense input, in this order; without any, batches have no dense input. */
  readonly numbers: readonly string[];
}

export interface Model {
  readonly type: string;
  readonly input: 'sparse' | 'dense' | 'columns';
  /** For input `columns`: which columns its batches have, and where. */
  readonly reads?: ColumnInputs;
  /** Batches have the fields of their features. */
  readonly readsFields?: true;
  readonly task: 'binary' | 'multiclass' | 'regression';
  readonly parameters: ParameterSpec;
  /** For each sparse table, the number of the batch's sparse input whose ids it looks up. */
  readonly lookups: readonly number[];
  /** Arrays of batches and values that are in this memory are used in place; others are copied in for each call. */
  readonly memory?: ArrayMemory;
  /**
   * Forward and backward. What it returns refers to no array of `values`: later values are put in their place. Models
   * that draw at random, as for dropout, want to know which batch it is.
   */
  step(batch: Batch, values: PulledValues, place?: BatchPlace): StepResult;
  /**
   * Forward only. `scores` has one number a record: probability (binary), prediction (regression), or the probability
   * of the label's class (multiclass).
   */
  evaluate(batch: Batch, values: PulledValues): { readonly metrics: MetricSums; readonly scores: Float32Array };
  /** For multiclass models: the probability of each class, records × classes. Ignores labels. */
  classProbabilities?(batch: Batch, values: PulledValues): Float32Array;
}

/** For each table, the distinct ids that it is asked for; one list for all tables that look up the same input. */
export const idsOf = ({ lookups }: Pick<Model, 'lookups'>, { sparse }: Batch): readonly IdList[] =>
  lookups.map((input) => sparse[input]!);

/** Gives back the arrays of the step, to which nothing may refer afterwards. */
export function freeStep({ memory }: Pick<Model, 'memory'>, { dense, sparse }: Omit<StepResult, 'metrics'>): void {
  for (const array of [...dense, ...sparse]) if (memory !== undefined && memoryOf(array) === memory) memory.free(array);
}

/** The same in ordinary arrays; those that it had are given back. */
export function ordinaryStep(model: Pick<Model, 'memory'>, step: StepResult): StepResult {
  const dense = step.dense.map((gradient) => gradient.slice());
  const sparse = step.sparse.map((gradient) => gradient.slice());
  freeStep(model, step);
  return { dense, sparse, metrics: step.metrics };
}
