/**
 * One push: everything is checked and all room is reserved before the first value changes, so a push is applied whole
 * or not at all.
 */
import { PaddletError } from '../base/errors.ts';
import type { DenseParameter } from './dense-parameter.ts';
import { type KernelHeap, outOfMemory } from './kernel-heap.ts';
import { badMessage } from './refusals.ts';
import type { SparseTable } from './sparse-table.ts';

interface ResolvedSparsePart {
  readonly table: SparseTable;
  readonly ids: Uint8Array;
  readonly gradients: Uint8Array;
}

interface ResolvedDensePart {
  readonly parameter: DenseParameter;
  readonly blocks: Uint32Array;
  readonly gradients: Uint8Array;
}

export interface Push {
  readonly heap: KernelHeap;
  readonly sparse: readonly ResolvedSparsePart[];
  readonly dense: readonly ResolvedDensePart[];
  /** A SHARD_ACTION for each shard. */
  readonly actions: Uint8Array;
  /** What the learning rate is multiplied by. */
  readonly rateScale: number;
}

/**
 * Throws `BadMessage` (also for an id or a parameter that comes twice), `WrongShard`, `BadGradient` or `OutOfMemory`,
 * with nothing changed.
 */
export function applyPush(push: Push): void {
  const { sparse, dense, actions, rateScale } = push;
  withChecked(push, ({ idsAt, counts, actionsAt, gradientsAt, located }) => {
    locate(push, { idsAt, counts, actionsAt, located });
    // Nothing below can fail.
    scaleRates(push, rateScale);
    let locatedAt = located;
    sparse.forEach(({ table }, part) => {
      table.apply(idsAt[part]!, counts[part]!, gradientsAt[part]!, locatedAt);
      locatedAt += 4 * counts[part]!;
    });
    dense.forEach(({ parameter, blocks }, part) => {
      parameter.apply(blocks, gradientsAt[sparse.length + part]!, actions);
    });
    scaleRates(push, 1);
  });
}

function scaleRates({ heap, sparse, dense }: Push, scale: number): void {
  for (const { table } of sparse) heap.kernels.scaleRate(table.optimizer.address, scale);
  for (const { parameter } of dense) heap.kernels.scaleRate(parameter.optimizer.address, scale);
}

/** Checks what `applyPush` would check, and applies nothing. Throws what it would throw, except `OutOfMemory`. */
export function checkPush(push: Push): void {
  withChecked(push, ({ idsAt, counts, actionsAt }) => {
    push.sparse.forEach(({ table }, part) => {
      table.checkShards(idsAt[part]!, counts[part]!, actionsAt);
    });
  });
}

/** Sizes and gradients are right; ids and gradients are in kernel memory. */
interface Checked extends Located {
  readonly gradientsAt: readonly number[];
}

function withChecked(push: Push, then: (checked: Checked) => void): void {
  const { heap, sparse, dense, actions } = push;
  refuseRepeatedParts(push);
  const counts = sparse.map(({ table, ids, gradients }) => table.countIds(ids, gradients, 'gradients'));
  // Views of kernel memory end with the next allocation.
  const floats = dense.map((part) => part.gradients.length / 4);
  for (const { parameter, blocks, gradients } of dense) parameter.check(blocks, gradients.length, actions);
  const ids = sparse.map((part) => part.ids);
  const gradients = [...sparse, ...dense].map((part) => part.gradients);
  heap.withInputs([actions, ...ids, ...gradients], ([actionsAt, ...addresses]) => {
    const idsAt = addresses.slice(0, sparse.length);
    const gradientsAt = addresses.slice(sparse.length);
    sparse.forEach(({ table }, part) => {
      checkRowGradients(heap, table, idsAt[part]!, gradientsAt[part]!, counts[part]!);
    });
    dense.forEach(({ parameter }, part) => {
      checkBlockGradients(heap, parameter, gradientsAt[sparse.length + part]!, floats[part]!);
    });
    heap.withScratch(4 * counts.reduce((sum, count) => sum + count, 0), (located) => {
      sparse.forEach(({ table }, part) => {
        table.refuseRepeated(idsAt[part]!, counts[part]!, located);
      });
      then({ idsAt, counts, actionsAt: actionsAt!, gradientsAt, located });
    });
  });
}

/** A table or parameter in two parts would be updated twice. */
function refuseRepeatedParts({ sparse, dense }: Push): void {
  if (sparse.length + dense.length < 2) return;
  const seen = new Set<SparseTable | DenseParameter>();
  for (const one of [...sparse.map(({ table }) => table), ...dense.map(({ parameter }) => parameter)]) {
    if (seen.has(one)) throw badMessage(`${one.spec.name} comes in two parts of one push`);
    seen.add(one);
  }
}

interface Located {
  readonly idsAt: readonly number[];
  readonly counts: readonly number[];
  readonly actionsAt: number;
  /** Address of a u32 for each id of all parts. */
  readonly located: number;
}

/** Finds all rows, and reserves room for those that are new. */
function locate({ heap, sparse }: Push, { idsAt, counts, actionsAt, located }: Located): void {
  try {
    let locatedAt = located;
    sparse.forEach(({ table }, part) => {
      table.locate(idsAt[part]!, counts[part]!, actionsAt, locatedAt);
      locatedAt += 4 * counts[part]!;
    });
    if (heap.kernels.reservePending() === 0) throw outOfMemory('the new rows of a push', heap.reservedBytes);
  } finally {
    heap.kernels.forgetPending();
  }
}

function checkRowGradients(heap: KernelHeap, table: SparseTable, ids: number, gradients: number, count: number): void {
  const { name, width } = table.spec;
  const bad = heap.firstNotFinite(gradients, count * width);
  if (bad < 0) return;
  const id = table.idAt(ids, Math.floor(bad / width)).toString();
  const column = bad % width;
  throw new PaddletError('BadGradient', `${name}: the gradient of row ${id}, column ${column} is not a finite number`, {
    details: { name, id, column },
  });
}

function checkBlockGradients(heap: KernelHeap, { spec }: DenseParameter, gradients: number, count: number): void {
  const bad = heap.firstNotFinite(gradients, count);
  if (bad < 0) return;
  throw new PaddletError('BadGradient', `${spec.name}: float ${bad} of the gradient is not a finite number`, {
    details: { name: spec.name, float: bad },
  });
}
