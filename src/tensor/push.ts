/**
 * One push: everything is checked and all room is reserved before the first value changes, so a push is applied whole
 * or not at all.
 */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import type { LimitedTable, ShardRoom } from './admission/limited-table.ts';
import type { TableCounts } from './admission/table-counts.ts';
import type { DenseParameter } from './dense-parameter.ts';
import { type KernelHeap, outOfMemory } from './kernel-heap.ts';
import type { LaneFold } from './lane-fold.ts';
import type { OldParts, PushOptions } from './parameters.ts';
import type { PulledRows } from './pulled-rows.ts';
import { badMessage } from './refusals.ts';
import type { SparseTable } from './sparse-table.ts';

interface ResolvedSparsePart {
  readonly table: SparseTable;
  /** The rules of the table; undefined if each id gets a row. */
  readonly limited: LimitedTable | undefined;
  /** Undefined: the table is not counted. */
  readonly counts: TableCounts | undefined;
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
  readonly options: PushOptions;
  /** The parts may be those of this sum. */
  readonly sum: LaneFold | undefined;
  /** Undefined when a shard that is present takes no update: rows are looked for then. */
  readonly pulled: PulledRows | undefined;
}

/** What the kernel locates for an id without a row, or one whose shard skips the push (kernels/assembly/rows.ts). */
const ABSENT = 0;
const SKIPPED = 1;

/** Address for old values that are not requested. */
const NOWHERE = 0;

/**
 * Throws `BadMessage` (also for an id or a parameter that comes twice), `WrongShard`, `BadGradient` or `OutOfMemory`,
 * with nothing changed.
 */
export function applyPush(push: Push): void {
  withChecked(push, (checked) => applyChecked(push, checked, NOWHERE));
}

/** As `applyPush`, and gives the values before it. */
export function applyKeeping(push: Push): OldParts {
  const { heap, sparse, dense } = push;
  return withChecked(push, (checked) => {
    const bytes = sparse.map(({ table }, part) => 4 * table.spec.width * checked.counts[part]!);
    const all = bytes.reduce((sum, some) => sum + some, 0);
    return heap.withScratch(all, (old) => {
      // Allocates all memory first: if there is not enough, nothing may have changed.
      const blocks = dense.map((_, part) => new Uint8Array(4 * checked.floats[part]!));
      const rows = bytes.map((some) => new Uint8Array(some));
      dense.forEach(({ parameter, blocks: wanted }, part) => {
        parameter.pull(wanted, blocks[part]!);
      });
      applyChecked(push, checked, old);
      let at = old;
      for (const values of rows) {
        values.set(heap.bytes.subarray(at, at + values.length));
        at += values.length;
      }
      return { dense: blocks, sparse: rows };
    });
  });
}

/** `old` is an address or `NOWHERE`: for the old values of all rows. */
function applyChecked(push: Push, checked: Checked, old: number): void {
  const { heap, sparse, dense, actions, options } = push;
  const { idsAt, counts, gradientsAt, located, seenAt } = checked;
  assertOptions(push);
  const rooms = locate(push, checked);
  // Nothing below can fail.
  scaleRates(push, options.rateScale ?? 1);
  let locatedAt = located;
  let oldAt = old;
  for (let part = 0; part < sparse.length; part++) {
    const { table, limited, counts: tableCounts } = sparse[part]!;
    const [ids, count] = [idsAt[part]!, counts[part]!];
    const limitedPart = { ids, count, located: locatedAt, area: checked.areas[part]! };
    limited?.makeRoom(limitedPart, rooms[part]!, options.seen!, seenAt!, tableCounts);
    if (tableCounts !== undefined) {
      if (limited === undefined) countLocated(heap, tableCounts, locatedAt, count);
      else limited.count(limitedPart, rooms[part]!, tableCounts);
    }
    table.apply(ids, count, gradientsAt[part]!, locatedAt, oldAt);
    if (table.hasSeen) table.markSeen(ids, count, locatedAt, seenAt!);
    limited?.countCandidates(limitedPart, seenAt);
    if (old !== NOWHERE) {
      limited?.fillOld(limitedPart, oldAt);
      oldAt += 4 * table.spec.width * count;
    }
    locatedAt += 4 * count;
  }
  for (let part = 0; part < dense.length; part++) {
    const { parameter, blocks } = dense[part]!;
    parameter.apply(blocks, gradientsAt[sparse.length + part]!, actions);
  }
  scaleRates(push, 1);
}

/** Counts a part that is located and not applied yet. Its table has no admission rule, so each new id gets a row. */
function countLocated(heap: KernelHeap, counts: TableCounts, located: number, count: number): void {
  for (const place of new Uint32Array(heap.bytes.buffer, located, count)) {
    if (place === ABSENT) counts.admitted++;
    else if (place !== SKIPPED) counts.updated++;
  }
}

/** The rate of a statistic is how much of it is new, and no learning rate. */
function scaleRates({ heap, sparse, dense }: Push, scale: number): void {
  for (const { table } of sparse) heap.kernels.scaleRate(table.optimizer.address, scale);
  for (const { parameter } of dense) {
    if (parameter.spec.statisticRate === undefined) heap.kernels.scaleRate(parameter.optimizer.address, scale);
  }
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
  /** Number of floats of each dense part. */
  readonly floats: readonly number[];
  /** Address of the `seen` of each shard. */
  readonly seenAt: number | undefined;
}

function assertOptions({ sparse, options: { seen, name } }: Push): void {
  assert(seen !== undefined || !sparse.some(({ table }) => table.hasSeen), 'a push says when its rows are seen');
  assert(name !== undefined || sparse.every(({ limited }) => limited === undefined), 'a push has a name');
}

function withChecked<T>(push: Push, then: (checked: Checked) => T): T {
  const { heap, sparse, dense, actions, sum, options } = push;
  const { seen } = options;
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
  if (seen !== undefined) inputs.push(new Uint8Array(seen.buffer, seen.byteOffset, seen.byteLength));
  return heap.withInputs(inputs, (addresses) => {
    const idsAt = addresses.slice(1, 1 + sparse.length);
    const gradientsAt = addresses.slice(1 + sparse.length);
    const seenAt = seen && addresses.at(-1);
    for (let part = 0; part < sparse.length; part++) {
      checkRowGradients(heap, sparse[part]!.table, idsAt[part]!, gradientsAt[part]!, counts[part]!);
    }
    for (let part = 0; part < dense.length; part++) {
      checkBlockGradients(heap, dense[part]!.parameter, gradientsAt[sparse.length + part]!, floats[part]!);
    }
    const offsets: number[] = [];
    let scratchBytes = 4 * total;
    for (const { limited } of sparse) {
      offsets.push(scratchBytes);
      scratchBytes += limited?.areaBytes(counts[offsets.length - 1]!) ?? 0;
    }
    return heap.withScratch(scratchBytes, (located) => {
      const areas = offsets.map((offset) => located + offset);
      for (let part = 0; part < sparse.length; part++) {
        if (sum?.has(idsAt[part]!, counts[part]!) === true) continue;
        sparse[part]!.table.refuseRepeated(idsAt[part]!, counts[part]!, located);
      }
      return then({ idsAt, counts, actionsAt: addresses[0]!, gradientsAt, floats, located, areas, seenAt });
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
  /** Address of memory for each part. Only limited tables use it. */
  readonly areas: readonly number[];
}

/**
 * Finds all rows, and reserves room for the new ones. Returns for each part the shards that must evict before the push
 * is applied.
 */
function locate(push: Push, { idsAt, counts, actionsAt, located, areas }: Located): (readonly ShardRoom[])[] {
  const { heap, sparse, options } = push;
  try {
    let locatedAt = located;
    const rooms = sparse.map(({ table, limited }, part) => {
      const [ids, count, at] = [idsAt[part]!, counts[part]!, locatedAt];
      locatedAt += 4 * count;
      const expects = limited === undefined;
      if (!recall(push, table, ids, count, at, expects)) table.locate(ids, count, actionsAt, at, expects);
      return limited?.judge({ ids, count, located: at, area: areas[part]! }, options.name!) ?? [];
    });
    if (heap.kernels.reservePending() === 0) throw outOfMemory('the new rows of a push', heap.reservedBytes);
    return rooms;
  } finally {
    heap.kernels.forgetPending();
  }
}

/** Locates rows where pulls have found them. False when none has. */
function recall(
  { sum, pulled }: Push,
  table: SparseTable,
  ids: number,
  count: number,
  located: number,
  expects: boolean,
): boolean {
  if (pulled === undefined) return false;
  const use = (found: number): void => table.recall(ids, count, found, located, expects);
  const found = sum?.foundOf(ids, count);
  if (found === undefined) return pulled.take(table, ids, count, use);
  use(found);
  return true;
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
