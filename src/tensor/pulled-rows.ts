/**
 * Where pulls have found their rows, for the push of the same ids: most mini-batches are pushed under the ids that they
 * were pulled under, and looking for a row costs more than updating it. In sync mode these are the lanes of a round,
 * which lane-fold.ts sums up. A row stays where it is while its shard is present, so all that is kept is forgotten when
 * a shard is dropped. In tables whose rows may be removed, the push checks that the row there still has the id.
 */
import { LIMITS } from '../base/limits.ts';
import type { KernelHeap } from './kernel-heap.ts';
import type { SparseTable } from './sparse-table.ts';

/** Shorter lists are found as fast as they are kept. */
const FEWEST_IDS = 512;
/** An id, and where its row is. */
const ID_BYTES = 8;
const ENTRY_BYTES = ID_BYTES + 4;

interface Kept {
  readonly table: SparseTable;
  readonly count: number;
  /** Address of the ids; the positions of their rows follow them. */
  readonly address: number;
}

export class PulledRows {
  readonly #heap: KernelHeap;
  /** Lists of the last pulls, the oldest first. */
  #lists: Kept[] = [];
  #bytes = 0;

  constructor(heap: KernelHeap) {
    this.#heap = heap;
  }

  get isEmpty(): boolean {
    return this.#lists.length === 0;
  }

  /**
   * Runs `pull` with the address of a u32 for each of `count` rows at `ids`, where the pull writes the row's place;
   * with 0 if places are not to be kept.
   */
  during(table: SparseTable, ids: number, count: number, pull: (found: number) => void): void {
    const byteLength = ENTRY_BYTES * count;
    const isKept = count >= FEWEST_IDS && byteLength <= LIMITS.pulledRowsBytes / 2;
    // A pull must not fail because there is no room.
    const address = isKept ? this.#heap.kernels.allocate(byteLength) >>> 0 : 0;
    if (address === 0) {
      pull(0);
      return;
    }
    try {
      pull(address + ID_BYTES * count);
    } catch (error) {
      this.#heap.free(address);
      throw error;
    }
    this.#heap.bytes.copyWithin(address, ids, ids + ID_BYTES * count);
    this.#lists.push({ table, count, address });
    this.#bytes += byteLength;
    while (this.#bytes > LIMITS.pulledRowsBytes) this.#drop(this.#lists.shift()!);
  }

  /**
   * Runs `use` with the address of what a pull of these ids has found, a u32 for each. False when none has. Arguments
   * are addresses.
   */
  take(table: SparseTable, ids: number, count: number, use: (found: number) => void): boolean {
    const at = this.#lists.findIndex((kept) => kept.table === table && kept.count === count && this.#isOf(kept, ids));
    if (at < 0) return false;
    // It is pushed once.
    const [kept] = this.#lists.splice(at, 1);
    try {
      use(kept!.address + ID_BYTES * count);
    } finally {
      this.#drop(kept!);
    }
    return true;
  }

  forget(): void {
    for (const kept of this.#lists.splice(0)) this.#drop(kept);
  }

  #isOf({ address, count }: Kept, ids: number): boolean {
    return this.#heap.kernels.areSameIds(address, ids, count) !== 0;
  }

  #drop({ address, count }: Kept): void {
    this.#heap.free(address);
    this.#bytes -= ENTRY_BYTES * count;
  }
}
