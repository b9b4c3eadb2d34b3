/**
 * One push: everything is checked and all room is reserved before the first value changes, so a push is applied whole
 * or not at all.
 */
import { PaddletError } from '../base/errors.ts';
import type { DenseParameter } from './dense-parameter.ts';
import { type KernelHeap, outOfMemory } from './kernel-heap.ts';
import type { PulledRows } from './pulled-rows.ts';
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
  /** Absent when a shard that is present takes no update. */
  readonly pulled?: PulledRows | undefined;
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
    for (let part = 0; part < sparse.length; part++) {
      sparse[part]!.table.apply(idsAt[part]!, counts[part]!, gradientsAt[part]!, locatedAt);
      locatedAt += 4 * counts[part]!;
    }
    for (let part = 0; part < dense.length; part++) {
      const { parameter, blocks } = dense[part]!;
      parameter.apply(blocks, gradientsAt[sparse.length + part]!, actions);
    }
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
  const inputs = [actions];
  const counts: number[] = [];
  // Views of kernel memory end with the next allocation.
  const floats: number[] = [];
  let total = 0;
  for (const { table, ids, gradients } of sparse) {
    const count = table.countIds(ids, gradients, 'gradients');
    counts.push(count);
    total += count;
    inputs.push(ids);
  }
  for (const { gradients } of sparse) inputs.push(gradients);
  for (const { parameter, blocks, gradients } of dense) {
    floats.push(gradients.length / 4);
    parameter.check(blocks, gradients.length, actions);
    inputs.push(gradients);
  }
  heap.withInputs(inputs, (addresses) => {
    const idsAt = addresses.slice(1, 1 + sparse.length);
    const gradientsAt = addresses.slice(1 + sparse.length);
    for (let part = 0; part < sparse.length; part++) {
      checkRowGradients(heap, sparse[part]!.table, idsAt[part]!, gradientsAt[part]!, counts[part]!);
    }
    for (let part = 0; part < dense.length; part++) {
      checkBlockGradients(heap, dense[part]!.parameter, gradientsAt[sparse.length + part]!, floats[part]!);
    }
    heap.withScratch(4 * total, (located) => {
      for (let part = 0; part < sparse.length; part++) {
        sparse[part]!.table.refuseRepeated(idsAt[part]!, counts[part]!, located);
      }
      then({ idsAt, counts, actionsAt: addresses[0]!, gradientsAt, located });
    });
  });
}

/** A table or parameter in two parts would be updated twice. */
function refuseRepeatedParts({ sparse, dense }: Push): void {
  if (sparse.length + dense.length < 2) return;
  const seen = new Set<SparseTable | DenseParameter>();
  const see = (one: SparseTable | DenseParameter): void => {
    if (seen.has(one)) throw badMessage(`${one.spec.name} comes in two parts of one push`);
    seen.add(one);
  };
  if (sparse.length > 1) for (const { table } of sparse) see(table);
  if (dense.length > 1) for (const { parameter } of dense) see(parameter);
}

interface Located {
  readonly idsAt: readonly number[];
  readonly counts: readonly number[];
  readonly actionsAt: number;
  /** Address of a u32 for each id of all parts. */
  readonly located: number;
}

/** Finds all rows, and reserves room for those that are new. */
function locate({ heap, sparse, pulled }: Push, { idsAt, counts, actionsAt, located }: Located): void {
  try {
    let locatedAt = located;
    for (let part = 0; part < sparse.length; part++) {
      const { table } = sparse[part]!;
      const isKnown = pulled?.recall(table, idsAt[part]!, counts[part]!, locatedAt) === true;
      if (!isKnown) table.locate(idsAt[part]!, counts[part]!, actionsAt, locatedAt);
      locatedAt += 4 * counts[part]!;
    }
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
