/**
 * Several mini-batches seen as one: the union of their ids, for a pull that serves `pullEvery` batches or a push that
 * carries the gradients of `pushEvery` batches. One batch alone is its own union, with nothing copied.
 */

import type { IdList } from '../../../cluster/client/parameter-client.ts';
import type { Batch } from '../../../model/model.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';

export interface Window {
  readonly ids: IdList;
  /** For each batch, where its distinct ids stand in the union; undefined when they are the union itself. */
  readonly places: readonly (Uint32Array | undefined)[];
}

const NO_IDS: IdList = { ids: new Uint8Array(0), count: 0 };

/** The distinct ids of one mini-batch. */
export const idsOf = (batch: Batch): IdList =>
  batch.kind === 'sparse' ? { ids: batch.data.ids, count: batch.data.distinct } : NO_IDS;

export function createWindow(router: IdRouter, batches: readonly Batch[]): Window {
  const lists = batches.map(idsOf);
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return { ids: only, places: [undefined] };
  const total = lists.reduce((sum, list) => sum + list.count, 0);
  const all = new Uint8Array(total * 8);
  let at = 0;
  for (const list of lists) {
    all.set(list.ids.subarray(0, list.count * 8), at * 8);
    at += list.count;
  }
  const union = router.dedupe(all, total);
  at = 0;
  const places = lists.map((list) => {
    const first = at;
    at += list.count;
    return union.columns.slice(first, at);
  });
  return { ids: { ids: union.ids, count: union.distinct }, places };
}
