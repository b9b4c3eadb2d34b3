/** One sparse table: a thin layer over `kernels/assembly/table.ts` and `rows.ts`, which hold its rows. */
import { assert } from '../base/assert.ts';
import type { PaddletError } from '../base/errors.ts';
import { HIGHEST_SEEN } from './admission/admission.ts';
import { AscendingImport } from './ascending-rows.ts';
import { kernelInitializer } from './initializer.ts';
import { type KernelHeap, outOfMemory } from './kernel-heap.ts';
import type { KernelOptimizer } from './kernel-optimizer.ts';
import { SHARD_ACTION, type ShardRows } from './parameters.ts';
import { randomMultiplier } from './random-multiplier.ts';
import { badMessage, wrongShard } from './refusals.ts';
import { FRESH_MEMORY, type RowMemory } from './row-memory.ts';
import { nameHash, shardOfRow } from './shard-hash.ts';
import type { SparseSpec } from './spec.ts';

/** Bytes that an export or import holds in kernel memory at a time, where a row does not need more. */
const WORKSPACE_BYTES = 128 * 1024;
/** An id, the address of its row (padded). */
const LOCATED_BYTES = 16;
/** What `locateRows` writes for a row that does not exist. */
const ABSENT = 0;
/** Offset of the values in a row; the slots and the step follow. */
const ROW_VALUES = 8;

/** Kernel memory set aside at the start, so that even a full memory can be exported. */
export interface Workspace {
  readonly address: number;
  readonly byteLength: number;
}

/** Bytes that a workspace needs for tables of this width, in a job with this number of shards. */
export const workspaceBytes = (widest: number, shards: number): number =>
  Math.max(WORKSPACE_BYTES, LOCATED_BYTES + 4 * widest) + shards;

export interface TableOptions {
  readonly optimizer: KernelOptimizer;
  readonly seed: number;
  readonly shards: number;
  readonly workspace: Workspace;
  /** Whether rows have a `seen`, and may be removed. Default: false. */
  readonly hasSeen?: boolean | undefined;
  /** Is called before rows are removed. `ids` lists them, and may list ids without a row. */
  readonly removing?: (shard: number, ids: () => BigUint64Array) => void;
}

/** Shards that rows are read from or put into, and what happens to rows of other shards: refused or skipped. */
interface Target {
  readonly shards: readonly number[];
  readonly others: typeof SHARD_ACTION.absent | typeof SHARD_ACTION.skip;
}

/** Values of `seen`, divided into buckets. */
export interface SeenBuckets {
  readonly from: number;
  readonly to: number;
  readonly shift: number;
  readonly each: number;
}

interface Field {
  readonly name: string;
  readonly offset: number;
  readonly byteLength: number;
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function joinPieces(pieces: Iterable<BigUint64Array>, into: BigUint64Array): void {
  let at = 0;
  for (const piece of pieces) {
    into.set(piece, at);
    at += piece.length;
  }
}

export class SparseTable {
  readonly spec: SparseSpec;
  readonly optimizer: KernelOptimizer;
  readonly #heap: KernelHeap;
  readonly #shards: number;
  readonly #workspace: Workspace;
  readonly #ascending: AscendingImport;
  readonly #hash: bigint;
  /** Address of the table's descriptor. */
  readonly address: number;
  readonly #values: Field;
  readonly #slots: readonly Field[];
  readonly #step: Field;
  readonly #seen: Field;
  readonly #removing: TableOptions['removing'];
  /** Whether rows have a `seen`, and may be removed. */
  readonly hasSeen: boolean;

  constructor(
    heap: KernelHeap,
    spec: SparseSpec,
    { optimizer, seed, shards, workspace, hasSeen = false, removing }: TableOptions,
  ) {
    this.#removing = removing;
    this.spec = spec;
    this.#heap = heap;
    this.optimizer = optimizer;
    this.hasSeen = hasSeen;
    this.#shards = shards;
    this.#workspace = workspace;
    this.#ascending = new AscendingImport(heap, workspace);
    this.#hash = nameHash(spec.name);
    const { kind, a, b, key } = kernelInitializer({ ...spec, seed, shape: [1, spec.width] });
    const multiplier = randomMultiplier();
    const layout = [spec.width, shards, optimizer.address, hasSeen ? 1 : 0] as const;
    this.address = heap.kernels.createTable(this.#hash, key, multiplier, kind, a, b, ...layout) >>> 0;
    if (this.address === 0) throw outOfMemory(`table ${spec.name}`, heap.reservedBytes);
    const byteLength = 4 * spec.width;
    this.#values = { name: 'values', offset: ROW_VALUES, byteLength };
    const { slots } = optimizer.layout;
    this.#slots = slots.map((name, index) => ({
      name,
      offset: ROW_VALUES + (index + 1) * byteLength,
      byteLength,
    }));
    const end = ROW_VALUES + (1 + slots.length) * byteLength;
    this.#step = { name: 'step', offset: end, byteLength: 4 };
    this.#seen = { name: 'seen', offset: optimizer.layout.steps ? end + 4 : end, byteLength: 4 };
  }

  /** Throws `OutOfMemory`, with nothing changed. */
  addShard(shard: number): void {
    if (this.#heap.kernels.addPart(this.address, shard) === 0) {
      throw outOfMemory(`a shard of table ${this.spec.name}`, this.#heap.reservedBytes);
    }
  }

  dropShard(shard: number): void {
    this.#ascending.forget();
    if (this.#part(shard) !== 0) this.#heap.kernels.dropPart(this.address, shard);
  }

  #part(shard: number): number {
    return this.#heap.kernels.partAt(this.address, shard) >>> 0;
  }

  /** Bytes of a row as it is read, including its id. */
  get rowBytes(): number {
    const { slots, steps } = this.optimizer.layout;
    const counters = (steps ? 1 : 0) + (this.hasSeen ? 1 : 0);
    return BigUint64Array.BYTES_PER_ELEMENT + (1 + slots.length) * this.#values.byteLength + 4 * counters;
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

  /**
   * Writes the values of `count` rows to kernel memory, and to `found`, unless it is 0, where they are. Throws
   * `WrongShard`.
   */
  pull(ids: number, count: number, out: number, found: number): void {
    const bad = this.#heap.kernels.pullRows(this.address, ids, count, out, found);
    if (bad >= 0) throw this.#refuse(ids, bad);
  }

  /**
   * Throws `BadMessage` for an id that comes twice, and `OutOfMemory`. `ids` is an address, `places` that of scratch
   * memory of a u32 for each id.
   */
  refuseRepeated(ids: number, count: number, places: number): void {
    if (count < 2) return;
    const { kernels } = this.#heap;
    const some = this.#heap.withScratch(kernels.filterBytes(count), (filter) =>
      kernels.mayRepeat(this.address, ids, count, places, filter),
    );
    if (some === 0) return;
    const again = this.#heap.withScratch(kernels.repeatSetBytes(some), (set) =>
      // Chosen after the list is known: no list can be made to fit it.
      kernels.firstRepeated(ids, places, some, set, randomMultiplier()),
    );
    if (again >= 0) throw badMessage(`${this.spec.name}: id ${this.idAt(ids, again)} is repeated`);
  }

  /** Throws `WrongShard` for an id whose shard takes no update. Looks for no row. Both arguments are addresses. */
  checkShards(ids: number, count: number, actions: number): void {
    const bad = this.#heap.kernels.checkShards(this.address, ids, count, actions);
    if (bad >= 0) throw this.#refuse(ids, bad);
  }

  /**
   * Finds the rows of a push, and counts those to be added if it `expects` them. Throws `WrongShard`. The numbers are
   * addresses and the count.
   */
  locate(ids: number, count: number, actions: number, located: number, expects = true): void {
    this.#ascending.forget();
    const bad = this.#heap.kernels.locateRows(this.address, ids, count, actions, located, expects);
    if (bad >= 0) throw this.#refuse(ids, bad);
  }

  /** As `locate`, from where pulls of the same ids have `found` rows. All shards that are present take updates. */
  recall(ids: number, count: number, found: number, located: number, expects = true): void {
    this.#ascending.forget();
    const bad = this.#heap.kernels.recallRows(this.address, ids, count, found, located, expects);
    if (bad >= 0) throw this.#refuse(ids, bad);
  }

  /** Writes the values of the rows as they were before to `old`, unless it is 0. */
  apply(ids: number, count: number, gradients: number, located: number, old: number): void {
    this.#heap.kernels.applyRows(this.address, ids, count, gradients, located, old);
  }

  /** Gives the located rows a new `seen`: at `seen` is a u32 for each shard. */
  markSeen(ids: number, count: number, located: number, seen: number): void {
    this.#heap.kernels.markSeen(this.address, ids, count, located, seen);
  }

  /** Ids of the rows of a present shard whose `seen` is from `least` to `most`, in no order. */
  idsSeen(shard: number, least: number, most: number): BigUint64Array {
    const pieces = [...this.#idPieces(shard, least, most)];
    const ids = new BigUint64Array(pieces.reduce((sum, { length }) => sum + length, 0));
    joinPieces(pieces, ids);
    return ids;
  }

  /**
   * For each row of a present shard whose `seen` is at least `from` and below `to`, adds `each` to the u32 of its
   * bucket. A bucket is for 2^shift values of `seen`; `sums` is the address of the first.
   */
  sumSeen(shard: number, { from, to, shift, each }: SeenBuckets, sums: number): void {
    assert(this.hasSeen, `rows of ${this.spec.name} have a seen`);
    this.#heap.kernels.sumSeen(this.#part(shard), from, to, shift, each, sums);
  }

  /** Removes the rows of a present shard whose `seen` is at most `seen`. Returns their number. */
  removeUnseen(shard: number, seen: number): number {
    this.#willRemove(shard, () => this.idsSeen(shard, 0, seen));
    return this.#heap.kernels.removeUnseen(this.#part(shard), seen) >>> 0;
  }

  /** Removes those of `ids` that have a row in a present shard, and returns their number. Throws `WrongShard`. */
  remove(shard: number, ids: BigUint64Array): number {
    const { ids: at, actions } = this.#areas;
    const pieces = this.#chunks(ids.length).map(([from, to]) => ids.subarray(from, to));
    for (const some of pieces) {
      this.#place(some, { shards: [shard], others: SHARD_ACTION.absent });
      this.checkShards(at, some.length, actions);
    }
    this.#willRemove(shard, () => ids);
    let removed = 0;
    for (const some of pieces) {
      this.#heap.bytes.set(bytesOf(some), at);
      removed += this.#heap.kernels.removeRows(this.#part(shard), at, some.length);
    }
    return removed;
  }

  #willRemove(shard: number, ids: () => BigUint64Array): void {
    assert(this.hasSeen, `rows of ${this.spec.name} may be removed`);
    this.#ascending.forget();
    this.#removing?.(shard, ids);
  }

  /** Each `seen` of a present shard is `by` less, but not less than 0. */
  lowerSeen(shard: number, by: number): void {
    assert(this.hasSeen, `rows of ${this.spec.name} have a seen`);
    this.#heap.kernels.lowerSeen(this.#part(shard), by);
  }

  /** The id at a place of a list in kernel memory: for messages. */
  idAt(ids: number, index: number): bigint {
    return new DataView(this.#heap.bytes.buffer).getBigUint64(ids + 8 * index, true);
  }

  #refuse(ids: number, index: number): PaddletError {
    return wrongShard(this.spec.name, shardOfRow(this.#hash, this.idAt(ids, index), this.#shards));
  }

  /** All rows of a present shard, sorted by unsigned id. Needs no memory beyond the workspace. */
  export(shard: number, memory: RowMemory = FRESH_MEMORY): ShardRows {
    const ids = memory.ids(this.rowsOf(shard));
    joinPieces(this.#idPieces(shard, 0, HIGHEST_SEEN), ids);
    return this.#readExisting(ids.sort(), [shard], memory);
  }

  /** As `export`, of the rows whose `seen` is at least `least`. */
  exportSeen(shard: number, least: number, memory: RowMemory = FRESH_MEMORY): ShardRows {
    assert(this.hasSeen, `rows of ${this.spec.name} have a seen`);
    return this.#readExisting(this.idsSeen(shard, least, HIGHEST_SEEN).sort(), [shard], memory);
  }

  /** The ids of all rows of `shards`, sorted. */
  sortedIds(shards: readonly number[]): BigUint64Array {
    const ids = new BigUint64Array(shards.reduce((sum, shard) => sum + this.rowsOf(shard), 0));
    let at = 0;
    for (const shard of shards) {
      const rows = this.rowsOf(shard);
      joinPieces(this.#idPieces(shard, 0, HIGHEST_SEEN), ids.subarray(at, at + rows));
      at += rows;
    }
    return ids.sort();
  }

  /**
   * Rows of `shards`, in the order of `ids`. They exist; in a table whose rows may be removed, those that do not are
   * left out. Needs no memory beyond the workspace. Throws `WrongShard` when an id is of another shard.
   */
  read(ids: BigUint64Array, shards: readonly number[], memory: RowMemory = FRESH_MEMORY): ShardRows {
    return this.#readExisting(this.hasSeen ? this.existing(ids, shards) : ids, shards, memory);
  }

  #readExisting(ids: BigUint64Array, shards: readonly number[], memory: RowMemory): ShardRows {
    const rows = this.#newRows(ids, memory);
    try {
      for (const [from, to] of this.#chunks(ids.length)) this.#readChunk(shards, rows, from, to);
    } finally {
      // Locating expects a row for an absent id, and a refusal leaves it expected.
      this.#heap.kernels.forgetPending();
    }
    return rows;
  }

  /** Those of `ids` that have a row in `shards`, in their order. Throws `WrongShard` when an id is of another shard. */
  existing(ids: BigUint64Array, shards: readonly number[]): BigUint64Array {
    const found = new Uint8Array(ids.length);
    try {
      for (const [from, to] of this.#chunks(ids.length)) {
        this.#locateChunk({ shards, others: SHARD_ACTION.absent }, ids.subarray(from, to));
        const rows = new Uint32Array(this.#heap.bytes.buffer, this.#areas.located, to - from);
        rows.forEach((row, i) => {
          if (row !== ABSENT) found[from + i] = 1;
        });
      }
    } finally {
      this.#heap.kernels.forgetPending();
    }
    return ids.filter((_, i) => found[i] === 1);
  }

  #readChunk(shards: readonly number[], rows: ShardRows, from: number, to: number): void {
    const { content, located } = this.#areas;
    this.#locateChunk({ shards, others: SHARD_ACTION.absent }, rows.ids.subarray(from, to));
    this.#assertAllFound(located, to - from);
    for (const [field, array] of this.#fieldsOf(rows)) {
      const length = (to - from) * field.byteLength;
      this.#heap.kernels.readField(located, to - from, field.offset, field.byteLength, content);
      bytesOf(array).set(this.#heap.bytes.subarray(content, content + length), from * field.byteLength);
    }
  }

  /** Puts rows into a present shard. Throws `BadMessage`, `WrongShard` or `OutOfMemory`, with nothing changed. */
  import(shard: number, rows: ShardRows): void {
    this.#checkRows(rows);
    const fields = this.#fieldsOf(rows).map(([, array]) => bytesOf(array));
    const target = { part: this.#part(shard), shard };
    if (this.#ascending.put(target, { ids: rows.ids, fields }, `rows of ${this.spec.name}`)) return;
    this.#import({ shards: [shard], others: SHARD_ACTION.absent }, rows);
  }

  /** Puts in the rows that belong to these present shards and skips the others. Throws like `import`. */
  adopt(shards: readonly number[], rows: ShardRows): void {
    this.#checkRows(rows);
    this.#import({ shards, others: SHARD_ACTION.skip }, rows);
  }

  #import(into: Target, rows: ShardRows): void {
    const { kernels } = this.#heap;
    const chunks = this.#chunks(rows.ids.length);
    try {
      for (const [from, to] of chunks) this.#locateChunk(into, rows.ids.subarray(from, to));
      if (kernels.reservePending() === 0) throw outOfMemory(`rows of ${this.spec.name}`, this.#heap.reservedBytes);
      for (const [from, to] of chunks) this.#importChunk(into, rows, from, to);
    } finally {
      kernels.forgetPending();
    }
  }

  #importChunk(into: Target, rows: ShardRows, from: number, to: number): void {
    const { kernels } = this.#heap;
    const { ids, located, content } = this.#areas;
    this.#locateChunk(into, rows.ids.subarray(from, to));
    kernels.addLocated(this.address, ids, to - from, located);
    for (const [field, array] of this.#fieldsOf(rows)) {
      const some = bytesOf(array).subarray(from * field.byteLength, to * field.byteLength);
      this.#heap.bytes.set(some, content);
      kernels.writeField(located, to - from, field.offset, field.byteLength, content);
    }
  }

  /** Rows that the workspace holds at a time. */
  get #chunkRows(): number {
    return Math.floor((this.#workspace.byteLength - this.#shards) / (LOCATED_BYTES + this.#fieldBytes));
  }

  /** Bytes of the widest field: rows of width 0 have counters. */
  get #fieldBytes(): number {
    return Math.max(4, this.#values.byteLength);
  }

  /** How the workspace is used: ids, located rows, one field of each, the actions of the shards. */
  get #areas(): { ids: number; located: number; content: number; actions: number } {
    const { address } = this.#workspace;
    const rows = this.#chunkRows;
    const content = address + LOCATED_BYTES * rows;
    return { ids: address, located: address + 8 * rows, content, actions: content + this.#fieldBytes * rows };
  }

  /** [from, to) of each chunk of `count` rows. */
  #chunks(count: number): [number, number][] {
    const size = this.#chunkRows;
    return Array.from({ length: Math.ceil(count / size) }, (_, i) => [i * size, Math.min(count, (i + 1) * size)]);
  }

  #assertAllFound(located: number, count: number): void {
    const rows = new Uint32Array(this.#heap.bytes.buffer, located, count);
    assert(
      rows.every((row) => row !== ABSENT),
      'rows that are read exist',
    );
  }

  #locateChunk(target: Target, some: BigUint64Array): void {
    const { ids, located, actions } = this.#areas;
    this.#place(some, target);
    this.locate(ids, some.length, actions, located);
  }

  /** Writes ids and the actions of all shards to the workspace. */
  #place(some: BigUint64Array, { shards, others }: Target): void {
    const { ids, actions } = this.#areas;
    const { bytes } = this.#heap;
    bytes.set(bytesOf(some), ids);
    bytes.fill(others, actions, actions + this.#shards);
    for (const shard of shards) bytes[actions + shard] = SHARD_ACTION.apply;
  }

  #newRows(ids: BigUint64Array, memory: RowMemory): ShardRows {
    const { width } = this.spec;
    const count = ids.length;
    const slots = this.#slots.map(({ name }) => [name, memory.floats(count * width)] as const);
    return {
      ids,
      values: memory.floats(count * width),
      slots: Object.fromEntries(slots),
      steps: this.optimizer.layout.steps ? memory.words(count) : undefined,
      ...(this.hasSeen ? { seen: memory.words(count) } : {}),
    };
  }

  #fieldsOf(rows: ShardRows): [Field, ArrayBufferView][] {
    const fields: [Field, ArrayBufferView][] = [[this.#values, rows.values]];
    for (const slot of this.#slots) fields.push([slot, rows.slots[slot.name]!]);
    if (rows.steps !== undefined) fields.push([this.#step, rows.steps]);
    if (this.hasSeen) fields.push([this.#seen, rows.seen ?? new Uint32Array(rows.ids.length)]);
    return fields;
  }

  #checkRows(rows: ShardRows): void {
    const count = rows.ids.length;
    const floats = count * this.spec.width;
    const named = Object.keys(rows.slots).length === this.#slots.length;
    if (!named || [rows.values, ...this.#slots.map(({ name }) => rows.slots[name])].some((a) => a?.length !== floats)) {
      throw badMessage(`${this.spec.name}: ${count} rows lack values or slots of ${floats} floats`);
    }
    const steps = this.optimizer.layout.steps ? count : undefined;
    if (rows.steps?.length !== steps)
      throw badMessage(`${this.spec.name}: the rows' step counts do not fit the optimizer`);
    if (rows.seen !== undefined && (!this.hasSeen || rows.seen.length !== count))
      throw badMessage(`${this.spec.name}: ${rows.seen.length} seen of ${count} rows do not fit the table`);
  }

  /**
   * Yields ids of the rows of a shard in no order, as many at a time as the workspace has room for. In a table with
   * `seen`: of the rows whose `seen` is from `least` to `most`.
   */
  *#idPieces(shard: number, least: number, most: number): Generator<BigUint64Array<ArrayBuffer>> {
    const { kernels } = this.#heap;
    const { address: at, byteLength } = this.#workspace;
    const room = Math.floor(byteLength / BigUint64Array.BYTES_PER_ELEMENT);
    let from = 0;
    do {
      from = kernels.collectIds(this.#part(shard), from, at, room, least, most) >>> 0;
      const ids = new BigUint64Array(kernels.collectedIds());
      bytesOf(ids).set(this.#heap.bytes.subarray(at, at + ids.byteLength));
      yield ids;
    } while (from !== 0);
  }
}
