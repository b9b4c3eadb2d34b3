/** Checks, once per batch and outside of the loops, that arrays have the lengths that the loops rely on. */
import { assert } from '../base/assert.ts';
import type { Batch, DenseBatch, PulledValues, SparseBatch } from './model.ts';

/** The sparse batch, with values of one row a distinct id in tables of the given widths. */
export function sparseBatch(batch: Batch, values: PulledValues, widths: readonly number[]): SparseBatch {
  assert(batch.kind === 'sparse', 'the model takes sparse records');
  const { data } = batch;
  assert(
    data.offsets.length === data.records + 1 && data.labels.length === data.records,
    'offsets and labels a record',
  );
  assert(data.values === undefined || data.values.length === data.columns.length, 'a value a feature');
  assert(values.sparse.length === widths.length, 'a pulled array a table');
  widths.forEach((width, table) => {
    assert(values.sparse[table]!.length === data.distinct * width, 'a row a distinct id');
  });
  return data;
}

/** The dense batch, with `width` inputs a record. */
export function denseBatch(batch: Batch, width: number): DenseBatch {
  assert(batch.kind === 'dense', 'the model takes dense records');
  const { data } = batch;
  assert(data.width === width && data.inputs.length === data.records * width, 'inputs are records × width');
  assert(data.labels.length === data.records, 'a label a record');
  return data;
}
