/** Steps and evaluations of models with sparse features and one output a record: what lr and fm share. */
import { assert } from '../base/assert.ts';
import type { ArrayMemory } from '../tensor/array-memory.ts';
import type { KernelExports } from '../tensor/kernels/exports.ts';
import { sparseInput } from './batch-shape.ts';
import { bytesOf, floatsAt, KeptMemory, SUMS_BYTES, sumsAt } from './kernel-step.ts';
import type { Batch, MetricSums, Model, PulledValues, SparseInput, StepResult } from './model.ts';

/** Where a batch, its values and what comes out are in kernel memory. */
export interface SparseAddresses {
  readonly offsets: number;
  readonly rows: number;
  readonly labels: number;
  /** 0 when every value is 1. */
  readonly values: number;
  /** 0 when the model reads no fields. */
  readonly fields: number;
  /** 0 when every weight is 1. */
  readonly weights: number;
  /** The rows of each table. */
  readonly tables: readonly number[];
  /** The gradient of each table; 0 when none is wanted. */
  readonly gradients: readonly number[];
  /** 0 when none are wanted. */
  readonly scores: number;
  readonly sums: number;
  /** As many bytes as the model asked for. */
  readonly scratch: number;
}

export interface SparseCounts {
  readonly records: number;
  /** Distinct ids. */
  readonly count: number;
}

export type SparseKernel = (kernels: KernelExports, counts: SparseCounts, bias: number, at: SparseAddresses) => void;

export interface SparseModelOptions {
  readonly memory: ArrayMemory;
  /** Widths of the tables. */
  readonly widths: readonly number[];
  /** Bytes of scratch memory for a batch with this number of features. */
  readonly scratchBytes: (features: number) => number;
  /** Set for a model that reads the fields of features. */
  readonly readsFields?: true;
  readonly run: SparseKernel;
}

/** Vectors are read and written at multiples of 16 bytes where it costs nothing. */
const aligned = (byteLength: number): number => Math.ceil(byteLength / 16) * 16;

interface Outcome {
  readonly metrics: MetricSums;
  readonly slopes: number;
}

export class SparseSteps implements Pick<Model, 'step' | 'evaluate'> {
  readonly #options: SparseModelOptions;
  readonly #kept: KeptMemory;

  constructor(options: SparseModelOptions) {
    this.#options = options;
    this.#kept = new KeptMemory(options.memory);
  }

  step(batch: Batch, values: PulledValues): StepResult {
    const { widths, memory } = this.#options;
    const { records } = batch;
    const { count, rows } = this.#input(batch, values);
    const sparse = widths.map((width) => memory.floats(width * count));
    const gradients = sparse.map(({ byteOffset }) => byteOffset);
    const first = this.#take(0, rows.length);
    const { metrics, slopes } = this.#run(batch, values, { gradients, scores: 0, first });
    return { dense: [Float32Array.of(records === 0 ? 0 : slopes / records)], sparse, metrics };
  }

  evaluate(batch: Batch, values: PulledValues): ReturnType<Model['evaluate']> {
    const { widths } = this.#options;
    const { records } = batch;
    const { rows } = this.#input(batch, values);
    const scores = this.#take(aligned(4 * records), rows.length);
    const to = { gradients: widths.map(() => 0), scores, first: scores + aligned(4 * records) };
    const { metrics } = this.#run(batch, values, to);
    return { metrics, scores: floatsAt(this.#kept.heap, scores, records).slice() };
  }

  #input(batch: Batch, values: PulledValues): SparseInput {
    const { widths, readsFields } = this.#options;
    const input = sparseInput(batch, values, widths);
    assert(!readsFields || input.fields?.length === input.rows.length, 'a field a feature');
    return input;
  }

  /** Room for so much, and after it what every call needs. */
  #take(byteLength: number, features: number): number {
    return this.#kept.take(byteLength + SUMS_BYTES + this.#options.scratchBytes(features));
  }

  #run(
    { records, labels, weights, sparse }: Batch,
    values: PulledValues,
    to: Pick<SparseAddresses, 'gradients' | 'scores'> & { readonly first: number },
  ): Outcome {
    const { heap } = this.#kept;
    const bias = values.dense[0]![0]!;
    const input = sparse[0]!;
    const { count } = input;
    const arrays: (Float32Array | Uint32Array | Uint16Array)[] = [input.offsets, input.rows, labels, ...values.sparse];
    if (input.values !== undefined) arrays.push(input.values);
    if (weights !== undefined) arrays.push(weights);
    const fields = this.#options.readsFields && input.fields;
    if (fields !== undefined) arrays.push(fields);
    return heap.withInputs(arrays.map(bytesOf), ([offsetsAt, rowsAt, labelsAt, ...rest]) => {
      const features = input.rows.length;
      const isBatch = heap.kernels.isBatch(records, offsetsAt!, rowsAt!, features, count);
      assert(isBatch !== 0, 'offsets ascend to the number of features, and each row is that of a distinct id');
      const tables = rest.slice(0, values.sparse.length);
      const arraysAt = { offsets: offsetsAt!, rows: rowsAt!, labels: labelsAt! };
      const optional = [input.values, weights, fields];
      const [valuesAt, weightsAt, fieldsAt] = optionalAddresses(rest.slice(tables.length), optional);
      const own = { ...arraysAt, tables, values: valuesAt!, weights: weightsAt!, fields: fieldsAt! };
      const sums = to.first;
      this.#options.run(heap.kernels, { records, count }, bias, { ...own, ...to, sums, scratch: sums + SUMS_BYTES });
      return sumsAt(heap, sums, records);
    });
  }
}

/** For each array the next of the addresses, 0 for one that is missing. */
function optionalAddresses(addresses: readonly number[], arrays: readonly unknown[]): number[] {
  let next = 0;
  return arrays.map((array) => (array === undefined ? 0 : addresses[next++]!));
}
