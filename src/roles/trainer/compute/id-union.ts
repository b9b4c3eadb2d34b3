/**
 * The distinct ids of several mini-batches together: for one pull that serves `pullEvery` batches, or one push that
 * carries the gradients of `pushEvery` batches. A single batch is its own union; nothing of it is copied.
 */
import type { IdList } from '../../../cluster/client/slicer.ts';
import type { Batch, Model, PulledValues, StepResult } from '../../../model/model.ts';
import { gatherRows } from '../../../tensor/gather-rows.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';

export interface IdUnion {
  readonly ids: IdList;
  /** For each batch, the position of each of its distinct ids in `ids`; undefined when its ids are `ids`. */
  readonly positions: readonly (Uint32Array | undefined)[];
}

export const NO_IDS: IdList = { ids: new Uint8Array(0), count: 0 };

/** The distinct ids of one mini-batch. */
export const idsOf = (batch: Batch): IdList =>
  batch.kind === 'sparse' ? { ids: batch.data.ids, count: batch.data.distinct } : NO_IDS;

export function uniteIds(router: IdRouter, batches: readonly Batch[]): IdUnion {
  const lists = batches.map(idsOf);
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return { ids: only, positions: [undefined] };
  const total = lists.reduce((sum, list) => sum + list.count, 0);
  const all = new Uint8Array(total * 8);
  let at = 0;
  for (const list of lists) {
    all.set(list.ids.subarray(0, list.count * 8), at * 8);
    at += list.count;
  }
  const union = router.dedupe(all, total);
  at = 0;
  const positions = lists.map((list) => {
    const first = at;
    at += list.count;
    return union.columns.slice(first, at);
  });
  return { ids: { ids: union.ids, count: union.distinct }, positions };
}

/** Steps the model on one batch, by its number in the union, with its part of the values of the whole union. */
export function stepInUnion(
  model: Model,
  batch: Batch,
  values: PulledValues,
  union: IdUnion,
  number: number,
): StepResult {
  const positions = union.positions[number];
  if (positions === undefined) return model.step(batch, values);
  const { memory } = model;
  const room = (length: number): Float32Array => memory?.floats(length) ?? new Float32Array(length);
  const sparse = values.sparse.map((rows, t) => gatherRows(rows, model.parameters.sparse[t]!.width, positions, room));
  try {
    return model.step(batch, { dense: values.dense, sparse });
  } finally {
    for (const rows of sparse) if (memory !== undefined && !values.sparse.includes(rows)) memory.free(rows);
  }
}
