/** The least recent ids of a shard: those with the lowest `seen`, then the lowest unsigned id. */
import { assert } from '../../base/assert.ts';
import type { KernelHeap } from '../kernel-heap.ts';
import type { SparseTable } from '../sparse-table.ts';

/** A table of the shard that ids may go from. */
export interface AgedTable {
  readonly table: SparseTable;
  /** Logical bytes of each row. */
  readonly bytes: number;
}

const BUCKETS = 2048;

/** Returns the lowest shift with which buckets of 2^shift values each hold this number of values. */
const shiftFor = (values: number): number => 32 - Math.clz32(Math.floor((values - 1) / BUCKETS));

export class LeastRecent {
  readonly #heap: KernelHeap;
  /** Address of the sums of all buckets, which are allocated now because an eviction must not fail. */
  readonly #sumsAt: number;

  constructor(heap: KernelHeap) {
    this.#heap = heap;
    this.#sumsAt = heap.allocate(Uint32Array.BYTES_PER_ELEMENT * BUCKETS);
  }

  /**
   * Removes the least recent ids of all tables together, just enough to free at least `bytes`. Ids whose `seen` is
   * `now` or higher stay. The others must have at least `bytes`. Returns the number of ids removed from each table.
   */
  remove(shard: number, tables: readonly AgedTable[], now: number, bytes: number): number[] {
    assert(now > 0, 'an update has a `seen` of at least 1');
    const { seen: last, bytes: missing } = this.#lastToGo(shard, tables, now, bytes);
    const older = tables.map(({ table }) => (last > 0 ? table.removeUnseen(shard, last - 1) : 0));
    const ties = tables.map(({ table }) => table.idsSeen(shard, last, last).sort());
    const counts = countLowest(
      ties,
      tables.map(({ bytes: each }) => each),
      missing,
    );
    return tables.map(({ table }, at) => older[at]! + table.remove(shard, ties[at]!.subarray(0, counts[at])));
  }

  /** The highest `seen` of the ids that go, and how many bytes ids with this `seen` must have. */
  #lastToGo(
    shard: number,
    tables: readonly AgedTable[],
    now: number,
    bytes: number,
  ): { readonly seen: number; readonly bytes: number } {
    let from = 0;
    let to = now;
    let missing = bytes;
    // Each round divides one bucket of the previous round.
    for (;;) {
      const shift = shiftFor(to - from);
      const step = 2 ** shift;
      const sums = this.#sums(shard, tables, { from, to, shift });
      let bucket = 0;
      while (sums[bucket]! < missing && from + (bucket + 1) * step < to) missing -= sums[bucket++]!;
      from += bucket * step;
      if (shift === 0) return { seen: from, bytes: missing };
      to = Math.min(to, from + step);
    }
  }

  /** Bytes of the ids in each bucket. */
  #sums(
    shard: number,
    tables: readonly AgedTable[],
    range: { readonly from: number; readonly to: number; readonly shift: number },
  ): Uint32Array {
    const at = this.#sumsAt;
    const { bytes } = this.#heap;
    bytes.fill(0, at, at + Uint32Array.BYTES_PER_ELEMENT * BUCKETS);
    for (const { table, bytes: each } of tables) table.sumSeen(shard, { ...range, each }, at);
    return new Uint32Array(bytes.buffer, at, BUCKETS);
  }
}

/** How many ids of each ascending list go, the lowest of all lists first, until they have `bytes`. */
function countLowest(lists: readonly BigUint64Array[], each: readonly number[], bytes: number): number[] {
  const counts = lists.map(() => 0);
  for (let left = bytes; left > 0; ) {
    const heads = lists.flatMap((ids, at) => (counts[at]! < ids.length ? [{ at, id: ids[counts[at]!]! }] : []));
    if (heads.length === 0) break;
    const { at } = heads.reduce((lowest, head) => (head.id < lowest.id ? head : lowest));
    counts[at]! += 1;
    left -= each[at]!;
  }
  return counts;
}
