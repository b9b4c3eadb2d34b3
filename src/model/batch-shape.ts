/** Checks, once per batch and outside of the loops, that arrays have the lengths that the loops rely on. */
import { assert } from '../base/assert.ts';
import type { Batch, DenseInput, PulledValues, SparseInput } from './model.ts';

/** The input of a model with one sparse input. Tables have the given widths, and `values` one row per distinct id. */
export function sparseInput(batch: Batch, values: PulledValues, widths: readonly number[]): SparseInput {
  const [input] = batch.sparse;
  assert(
    input !== undefined && batch.sparse.length === 1 && batch.dense.length === 0,
    'the model takes features alone',
  );
  const isWhole = input.offsets.length === batch.records + 1 && batch.labels.length === batch.records;
  assert(isWhole, 'offsets and labels a record');
  checkWeights(batch);
  assert(input.values === undefined || input.values.length === input.rows.length, 'a value a feature');
  assert(values.sparse.length === widths.length, 'a pulled array a table');
  widths.forEach((width, table) => {
    assert(values.sparse[table]!.length === input.count * width, 'a row a distinct id');
  });
  return input;
}

/** The input of a model with one dense input of `width` numbers per record. */
export function denseInput(batch: Batch, width: number): DenseInput {
  const [input] = batch.dense;
  assert(input !== undefined && batch.dense.length === 1 && batch.sparse.length === 0, 'the model takes numbers alone');
  assert(input.width === width && input.values.length === batch.records * width, 'inputs are records × width');
  assert(batch.labels.length === batch.records, 'a label a record');
  checkWeights(batch);
  return input;
}

function checkWeights({ records, weights }: Batch): void {
  assert(weights === undefined || weights.length === records, 'a weight a record');
}
