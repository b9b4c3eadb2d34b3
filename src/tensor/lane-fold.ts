/**
 * The gradient of a round out of those of its lanes (docs/design.md §6): the mean over all good records of the round.
 * It depends on nothing but the lanes in their order; how parameters are spread over pservers changes nothing, as every
 * row and block is summed by itself.
 *
 * Lane `l` has the mean gradient `g_l` over its `n_l` records. In lane order, starting from zeros:
 *   sum := f32(sum + n_l · g_l), computed in 64 bits and rounded once; at the end f32(sum / Σ n_l)
 * Lanes without records add nothing.
 */
import { assert } from '../base/assert.ts';
import type { IdRouter } from './id-router.ts';
import type { DensePart, SparsePart } from './parameters.ts';
import type { ParameterSpec } from './spec.ts';

export interface LaneGradients {
  /** Good records that the gradients are the mean of. */
  readonly records: number;
  readonly dense: readonly DensePart[];
  readonly sparse: readonly SparsePart[];
}

export interface RoundGradients {
  readonly dense: readonly DensePart[];
  /** Each id once a table. */
  readonly sparse: readonly SparsePart[];
}

/** `lanes` in lane order. All those with records have the same blocks of the same parameters. */
export function foldLanes(spec: ParameterSpec, router: IdRouter, lanes: readonly LaneGradients[]): RoundGradients {
  const filled = lanes.filter(({ records }) => records > 0);
  const total = filled.reduce((sum, { records }) => sum + records, 0);
  return {
    dense: spec.dense.flatMap((_, parameter) => foldDense(parameter, filled, total)),
    sparse: spec.sparse.flatMap(({ width }, table) => foldSparse(router, { table, width }, filled, total)),
  };
}

function foldDense(parameter: number, lanes: readonly LaneGradients[], total: number): DensePart[] {
  const parts = lanes.flatMap(({ dense, records }) =>
    dense.filter((part) => part.parameter === parameter).map((part) => ({ ...part, records })),
  );
  const [first] = parts;
  if (first === undefined) return [];
  const sum = new Float32Array(first.gradients.byteLength / 4);
  for (const { gradients, records } of parts) {
    assert(gradients.byteLength === 4 * sum.length, 'all lanes have the same blocks');
    const from = floatsOf(gradients);
    for (let i = 0; i < sum.length; i++) sum[i] = sum[i]! + records * from[i]!;
  }
  return [{ parameter, blocks: first.blocks, gradients: mean(sum, total) }];
}

function foldSparse(
  router: IdRouter,
  { table, width }: { table: number; width: number },
  lanes: readonly LaneGradients[],
  total: number,
): SparsePart[] {
  const parts = lanes.flatMap(({ sparse, records }) =>
    sparse.filter((part) => part.table === table).map((part) => ({ ...part, records })),
  );
  const bytes = parts.reduce((sum, { ids }) => sum + ids.byteLength, 0);
  if (bytes === 0) return [];
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const { ids } of parts) {
    all.set(ids, at);
    at += ids.byteLength;
  }
  const { ids, distinct, places } = router.dedupe(all, bytes / 8);
  const sum = new Float32Array(distinct * width);
  let row = 0;
  for (const { gradients, records } of parts) row = addRows(sum, width, places, row, floatsOf(gradients), records);
  return [{ table, ids, gradients: mean(sum, total) }];
}

/** Adds one lane's rows; `places` from `row` on say where each goes. Returns where the next lane's begin. */
function addRows(
  sum: Float32Array,
  width: number,
  places: Uint32Array,
  row: number,
  rows: Float32Array,
  records: number,
): number {
  const count = rows.length / width;
  for (let i = 0; i < count; i++) {
    const into = places[row + i]! * width;
    const from = i * width;
    for (let c = 0; c < width; c++) sum[into + c] = sum[into + c]! + records * rows[from + c]!;
  }
  return row + count;
}

function mean(sum: Float32Array, total: number): Uint8Array {
  for (let i = 0; i < sum.length; i++) sum[i] = sum[i]! / total;
  return new Uint8Array(sum.buffer);
}

const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
