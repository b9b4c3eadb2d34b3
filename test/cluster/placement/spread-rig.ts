/** Pservers, heads and records in a store in memory, as a small cluster writes them. */
import { parseHead, takenBy } from '../../../src/cluster/placement/heads.ts';
import { keysOf } from '../../../src/store/keys.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Op } from '../../../src/store/store.ts';

export const keys = keysOf('/paddlet/test');
export const MB = 1_000_000;

export class SpreadRig {
  readonly #data: MemoryStoreData;

  constructor(data: MemoryStoreData) {
    this.#data = data;
  }

  write(...then: Op[]): void {
    this.#data.txn({ if: [], then });
  }

  claim(index: number): void {
    this.write({ put: keys.ps(index), value: `here:${index}` });
  }

  /** Makes the owner of this index the primary of these units. */
  lead(index: number, ...units: number[]): void {
    const token = this.#data.get(keys.ps(index))!.createRevision.toString();
    for (const unit of units) {
      this.write({ put: keys.head(unit), value: JSON.stringify(takenBy({ index, token }, undefined)) });
    }
  }

  /** The owner of this index gets a copy of the unit. */
  copy(unit: number, index: number): void {
    const head = parseHead('head', this.#data.get(keys.head(unit))!.value);
    const member = { index, token: this.#data.get(keys.ps(index))!.createRevision.toString() };
    this.write({ put: keys.head(unit), value: JSON.stringify({ ...head, inSync: [...head.inSync, member] }) });
  }

  tell(index: number, bytes: Readonly<Record<number, number>>, more: object = {}): void {
    const units = Object.entries(bytes).map(([unit, size]) => ({ unit: Number(unit), bytes: size }));
    const record = { id: index, instance: 'here', status: 'up', start_time: 1, sync: true, units, ...more };
    this.write({ put: keys.pserver(index), value: JSON.stringify(record) });
  }

  /** Pservers 0 and 1 have two of four units each. */
  twoEven(): void {
    for (const index of [0, 1]) {
      this.claim(index);
      this.lead(index, index, index + 2);
    }
    this.tell(0, { 0: MB, 2: MB });
    this.tell(1, { 1: MB, 3: MB }, { hostLabel: 'a7', zone: 'a' });
  }
}
