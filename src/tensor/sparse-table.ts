/** One sparse table: a thin layer over `kernels/assembly/table.ts` and `rows.ts`, which hold its rows. */
import type { PaddletError } from '../base/errors.ts';
import { kernelInitializer } from './initializer.ts';
import { type KernelHeap, outOfMemory } from './kernel-heap.ts';
import type { OptimizerLayout } from './optimizer.ts';
import { SHARD_ACTION, type ShardRows } from './parameters.ts';
import { badMessage, wrongShard } from './refusals.ts';
import { nameHash, shardOfRow } from './shard-hash.ts';
import type { SparseSpec } from './spec.ts';

/** Bytes that an export or import holds in kernel memory at a time (or one row, if that is more). */
const CHUNK_BYTES = 256 * 1024;
/** Offset of the values in a row; the slots and the step follow. */
const ROW_VALUES = 8;

interface Field {
  readonly name: string;
  readonly offset: number;
  readonly byteLength: number;
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

export class SparseTable {
  readonly spec: SparseSpec;
  readonly #heap: KernelHeap;
  readonly #layout: OptimizerLayout;
  readonly #shards: number;
  readonly #hash: bigint;
  /** Address of the table's descriptor. */
  readonly #table: number;
  readonly #values: Field;
  readonly #slots: readonly Field[];
  readonly #step: Field;

  constructor(heap: KernelHeap, spec: SparseSpec, layout: OptimizerLayout, job: { seed: number; shards: number }) {
    this.spec = spec;
    this.#heap = heap;
    this.#layout = layout;
    this.#shards = job.shards;
    this.#hash = nameHash(spec.name);
    const { kind, a, b, key } = kernelInitializer({ ...spec, seed: job.seed, shape: [1, spec.width] });
    this.#table = heap.kernels.createTable(this.#hash, key, kind, a, b, spec.width, job.shards) >>> 0;
    if (this.#table === 0) throw outOfMemory(`table ${spec.name}`, heap.reservedBytes);
    const byteLength = 4 * spec.width;
    this.#values = { name: 'values', offset: ROW_VALUES, byteLength };
    this.#slots = layout.slots.map((name, index) => ({
      name,
      offset: ROW_VALUES + (index + 1) * byteLength,
      byteLength,
    }));
    this.#step = { name: 'step', offset: ROW_VALUES + (1 + layout.slots.length) * byteLength, byteLength: 4 };
  }

  /** Throws `OutOfMemory`, with nothing changed. */
  addShard(shard: number): void {
    if (this.#heap.kernels.addPart(this.#table, shard) === 0) {
      throw outOfMemory(`a shard of table ${this.spec.name}`, this.#heap.reservedBytes);
    }
  }

  dropShard(shard: number): void {
    if (this.#part(shard) !== 0) this.#heap.kernels.dropPart(this.#table, shard);
  }

  #part(shard: number): number {
    return this.#heap.kernels.partAt(this.#table, shard) >>> 0;
  }

  rowsOf(shard: number): number {
    return this.#heap.kernels.partRows(this.#part(shard)) >>> 0;
  }

  bytesOf(shard: number): number {
    return this.#heap.kernels.partBytes(this.#part(shard)) >>> 0;
  }

  /** Number of ids in `ids`. Throws `BadMessage` when they or `floats` (bytes of n × width f32) have a wrong size. */
  countIds(ids: Uint8Array, floats: Uint8Array, what: string): number {
    const count = ids.length / 8;
    if (!Number.isInteger(count)) throw badMessage(`${this.spec.name}: ${ids.length} bytes are not 64-bit ids`);
    if (floats.length !== count * 4 * this.spec.width) {
      throw badMessage(`${this.spec.name}: ${floats.length} bytes of ${what} for ${count} rows of ${this.spec.width}`);
    }
    return count;
  }

  /** Writes the values of `count` rows to kernel memory. Throws `WrongShard`. */
  pull(ids: number, count: number, out: number): void {
    const bad = this.#heap.kernels.pullRows(this.#table, ids, count, out);
    if (bad >= 0) throw this.#refuse(ids, bad);
  }

  /** Finds the rows of a push and counts those to be added. Throws `WrongShard`. All arguments are addresses. */
  locate(ids: number, count: number, actions: number, located: number): void {
    const bad = this.#heap.kernels.locateRows(this.#table, ids, count, actions, located);
    if (bad >= 0) throw this.#refuse(ids, bad);
  }

  apply(ids: number, count: number, gradients: number, located: number): void {
    this.#heap.kernels.applyRows(this.#table, ids, count, gradients, located);
  }

  /** The id at a place of a list in kernel memory: for messages. */
  idAt(ids: number, index: number): bigint {
    return new DataView(this.#heap.bytes.buffer).getBigUint64(ids + 8 * index, true);
  }

  #refuse(ids: number, index: number): PaddletError {
    return wrongShard(this.spec.name, shardOfRow(this.#hash, this.idAt(ids, index), this.#shards));
  }

  /** Rows whose content fits a chunk, at least one. */
  get #chunkRows(): number {
    const rowBytes = 16 + 4 * this.spec.width;
    return Math.max(1, Math.floor(CHUNK_BYTES / rowBytes));
  }

  /** All rows of a present shard, sorted by unsigned id. Throws `OutOfMemory` when not even a chunk can be held. */
  export(shard: number): ShardRows {
    const count = this.rowsOf(shard);
    const rows = this.#newRows(count);
    this.#collectIds(shard, rows.ids);
    rows.ids.sort();
    this.#withChunk((ids, located, content) => {
      const actions = this.#onlyShard(shard);
      this.#heap.withInputs([actions], ([actionsAt]) => {
        for (let from = 0; from < count; from += this.#chunkRows) {
          const to = Math.min(count, from + this.#chunkRows);
          this.#heap.bytes.set(bytesOf(rows.ids.subarray(from, to)), ids);
          this.locate(ids, to - from, actionsAt!, located);
          for (const [field, array] of this.#fieldsOf(rows)) {
            const length = (to - from) * field.byteLength;
            this.#heap.kernels.readField(located, to - from, field.offset, field.byteLength, content);
            bytesOf(array).set(this.#heap.bytes.subarray(content, content + length), from * field.byteLength);
          }
        }
      });
    });
    return rows;
  }

  /** Puts rows into a present shard. Throws `BadMessage`, `WrongShard` or `OutOfMemory`, with nothing changed. */
  import(shard: number, rows: ShardRows): void {
    this.#checkRows(rows);
    const count = rows.ids.length;
    this.#withChunk((ids, located, content) => {
      this.#heap.withInputs([this.#onlyShard(shard)], ([actions]) => {
        const locateChunk = (from: number, to: number): void => {
          this.#heap.bytes.set(bytesOf(rows.ids.subarray(from, to)), ids);
          this.locate(ids, to - from, actions!, located);
        };
        try {
          for (let from = 0; from < count; from += this.#chunkRows) {
            locateChunk(from, Math.min(count, from + this.#chunkRows));
          }
          this.#reserve();
          for (let from = 0; from < count; from += this.#chunkRows) {
            const to = Math.min(count, from + this.#chunkRows);
            locateChunk(from, to);
            this.#heap.kernels.addLocated(this.#table, ids, to - from, located);
            for (const [field, array] of this.#fieldsOf(rows)) {
              const some = bytesOf(array).subarray(from * field.byteLength, to * field.byteLength);
              this.#heap.bytes.set(some, content);
              this.#heap.kernels.writeField(located, to - from, field.offset, field.byteLength, content);
            }
          }
        } finally {
          this.#heap.kernels.forgetPending();
        }
      });
    });
  }

  #reserve(): void {
    if (this.#heap.kernels.reservePending() === 0) {
      throw outOfMemory(`rows of ${this.spec.name}`, this.#heap.reservedBytes);
    }
  }

  #newRows(count: number): ShardRows {
    const { width } = this.spec;
    const slots = this.#slots.map(({ name }) => [name, new Float32Array(count * width)] as const);
    return {
      ids: new BigUint64Array(count),
      values: new Float32Array(count * width),
      slots: Object.fromEntries(slots),
      steps: this.#layout.steps ? new Uint32Array(count) : undefined,
    };
  }

  #fieldsOf(rows: ShardRows): [Field, ArrayBufferView][] {
    const fields: [Field, ArrayBufferView][] = [[this.#values, rows.values]];
    for (const slot of this.#slots) fields.push([slot, rows.slots[slot.name]!]);
    if (rows.steps !== undefined) fields.push([this.#step, rows.steps]);
    return fields;
  }

  #checkRows(rows: ShardRows): void {
    const count = rows.ids.length;
    const floats = count * this.spec.width;
    const named = Object.keys(rows.slots).length === this.#slots.length;
    if (!named || [rows.values, ...this.#slots.map(({ name }) => rows.slots[name])].some((a) => a?.length !== floats)) {
      throw badMessage(`${this.spec.name}: ${count} rows lack values or slots of ${floats} floats`);
    }
    const steps = this.#layout.steps ? count : undefined;
    if (rows.steps?.length !== steps)
      throw badMessage(`${this.spec.name}: the rows' step counts do not fit the optimizer`);
  }

  #collectIds(shard: number, into: BigUint64Array): void {
    const { kernels } = this.#heap;
    const room = CHUNK_BYTES / 8;
    this.#heap.withScratch(CHUNK_BYTES, (out) => {
      const bytes = bytesOf(into);
      let at = 0;
      let from = 0;
      do {
        from = kernels.collectIds(this.#part(shard), from, out, room) >>> 0;
        const length = 8 * kernels.collectedIds();
        bytes.set(this.#heap.bytes.subarray(out, out + length), at);
        at += length;
      } while (from !== 0);
    });
  }

  #onlyShard(shard: number): Uint8Array {
    const actions = new Uint8Array(this.#shards);
    actions[shard] = SHARD_ACTION.apply;
    return actions;
  }

  /** Scratch for a chunk of rows: ids, located rows, one field. */
  #withChunk(use: (ids: number, located: number, content: number) => void): void {
    const rows = this.#chunkRows;
    this.#heap.withScratch(rows * (8 + 8 + 4 * this.spec.width), (at) => use(at, at + 8 * rows, at + 16 * rows));
  }
}
