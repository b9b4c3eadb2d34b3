/**
 * The fast way for rows of a file into a shard: they ascend by id and are all new, so no row is looked up.
 * Most of the time from the claim of an index to serving is spent here.
 */
import { type KernelHeap, outOfMemory } from './kernel-heap.ts';

const ID_BYTES = 8;

export interface AscendingRows {
  readonly ids: BigUint64Array;
  /** Bytes of the values, of each slot, and of the steps if there are any: as the optimizer lays out a row. */
  readonly fields: readonly Uint8Array[];
}

export interface AscendingTarget {
  readonly part: number;
  readonly shard: number;
}

export class AscendingImport {
  readonly #heap: KernelHeap;
  readonly #address: number;
  readonly #byteLength: number;
  /** The part that was put into last, and the highest id in it, as long as no other call has added to the table. */
  #last: { readonly part: number; readonly rows: number; readonly id: bigint } | undefined;

  constructor(heap: KernelHeap, workspace: { readonly address: number; readonly byteLength: number }) {
    this.#heap = heap;
    this.#address = workspace.address;
    this.#byteLength = workspace.byteLength;
  }

  /** Rows may be added or dropped by other calls. */
  forget(): void {
    this.#last = undefined;
  }

  /**
   * Puts the rows in, or returns false with nothing changed: they do not ascend, may exist already, are of another
   * shard, or are too wide. Throws `OutOfMemory`, also with nothing changed.
   */
  put({ part, shard }: AscendingTarget, { ids, fields }: AscendingRows, what: string): boolean {
    const { kernels } = this.#heap;
    const count = ids.length;
    const held = kernels.partRows(part) >>> 0;
    const follows = this.#last?.part === part && this.#last.rows === held ? this.#last.id : undefined;
    if (count === 0 || (held > 0 && follows === undefined)) return false;
    const bytesPerRow = fields.reduce((sum, field) => sum + field.length / count, ID_BYTES);
    const chunk = Math.floor(this.#byteLength / bytesPerRow);
    if (chunk === 0) return false;
    try {
      let last = follows;
      for (let from = 0; from < count; from += chunk) {
        const some = ids.subarray(from, from + chunk);
        this.#place(some, this.#address);
        const isFirst = last === undefined ? 1 : 0;
        if (kernels.expectAscending(part, shard, this.#address, some.length, last ?? 0n, isFirst) >= 0) return false;
        last = some.at(-1);
      }
      if (kernels.reservePending() === 0) throw outOfMemory(what, this.#heap.reservedBytes);
    } finally {
      kernels.forgetPending();
    }
    for (let from = 0; from < count; from += chunk)
      this.#add(part, { ids, fields }, from, Math.min(count, from + chunk));
    this.#last = { part, rows: held + count, id: ids[count - 1]! };
    return true;
  }

  #add(part: number, { ids, fields }: AscendingRows, from: number, to: number): void {
    const count = to - from;
    this.#place(ids.subarray(from, to), this.#address);
    const first = this.#address + ID_BYTES * count;
    let at = first;
    for (const field of fields) {
      const width = field.length / ids.length;
      const some = field.subarray(from * width, to * width);
      this.#place(some, at);
      at += some.length;
    }
    this.#heap.kernels.addAscending(part, this.#address, count, first);
  }

  #place(data: ArrayBufferView, address: number): void {
    this.#heap.bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address);
  }
}
