/**
 * The distinct ids of several mini-batches together: for one pull that serves `pullEvery` batches, or one push that
 * carries the gradients of `pushEvery` batches. A single batch is its own union; nothing of it is copied.
 */
import {
  type Batch,
  type BatchPlace,
  idsOf,
  type Model,
  type PulledValues,
  type StepResult,
} from '../../../model/model.ts';
import { gatherRows } from '../../../tensor/gather-rows.ts';
import type { IdList, IdRouter } from '../../../tensor/id-router.ts';

export interface IdUnion {
  /** By table; one list for all tables that look up the same input. */
  readonly ids: readonly IdList[];
  /** For each batch and table, the position of each of its distinct ids in `ids`. */
  readonly positions: readonly PositionsOfTables[];
}

/** By table; undefined when the ids of the batch are those of the union. */
export type PositionsOfTables = readonly Uint32Array[] | undefined;

export function uniteIds(router: IdRouter, model: Pick<Model, 'lookups'>, batches: readonly Batch[]): IdUnion {
  const [only] = batches;
  if (only !== undefined && batches.length === 1) return { ids: idsOf(model, only), positions: [undefined] };
  const { lookups } = model;
  const byInput = new Map([...new Set(lookups)].map((input) => [input, uniteInput(router, batches, input)]));
  return {
    ids: lookups.map((input) => byInput.get(input)!.ids),
    positions: batches.map((_, batch) => lookups.map((input) => byInput.get(input)!.positions[batch]!)),
  };
}

interface InputUnion {
  readonly ids: IdList;
  /** Indexed by batch. */
  readonly positions: readonly Uint32Array[];
}

function uniteInput(router: IdRouter, batches: readonly Batch[], input: number): InputUnion {
  const lists = batches.map(({ sparse }) => sparse[input]!);
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
    return union.places.slice(first, at);
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
  place: BatchPlace,
): StepResult {
  const positions = union.positions[number];
  if (positions === undefined) return model.step(batch, values, place);
  const { memory } = model;
  const room = (length: number): Float32Array => memory?.floats(length) ?? new Float32Array(length);
  const sparse = values.sparse.map((rows, t) =>
    gatherRows(rows, model.parameters.sparse[t]!.width, positions[t]!, room),
  );
  try {
    return model.step(batch, { dense: values.dense, sparse }, place);
  } finally {
    for (const rows of sparse) if (memory !== undefined && !values.sparse.includes(rows)) memory.free(rows);
  }
}
