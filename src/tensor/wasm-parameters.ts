/** Parameter memory in WebAssembly: `Parameters` over one `KernelHeap`, its dense parameters and sparse tables. */
import { assert } from '../base/assert.ts';
import { CANDIDATE_BYTES } from './admission/admission.ts';
import { LimitedTable } from './admission/limited-table.ts';
import type { IdCounts, TableUse } from './admission/table-counts.ts';
import { blockCount } from './blocks.ts';
import { checkOptimizerSpec, checkParameterSpec, checkShardCount } from './check-options.ts';
import { DenseParameter } from './dense-parameter.ts';
import { KernelHeap } from './kernel-heap.ts';
import { createOptimizer } from './kernel-optimizer.ts';
import { LaneFold } from './lane-fold.ts';
import { hasLearningRate } from './optimizer.ts';
import {
  type DenseBlock,
  type DensePart,
  type LaneGradients,
  type LaneSum,
  type MemoryWatcher,
  type OldParts,
  type ParameterMemoryStats,
  type Parameters,
  type ParametersOptions,
  type PushOptions,
  SHARD_ACTION,
  type ShardRows,
  type SparsePart,
  type Staging,
} from './parameters.ts';
import { PulledRows } from './pulled-rows.ts';
import { applyKeeping, applyPush, checkPush, type Push } from './push.ts';
import { badMessage, unknownParameter, wrongShard } from './refusals.ts';
import type { RowMemory } from './row-memory.ts';
import { SparseTable, workspaceBytes } from './sparse-table.ts';

/** Rows on their way out of kernel memory stay in the cache between being found and being copied. */
const PULL_PIECE_BYTES = 128 * 1024;

export interface WasmParametersOptions extends ParametersOptions {
  /** Upper bound of kernel memory; almost 4 GiB when absent. */
  readonly memoryLimitBytes?: number;
}

/** Throws `JobInvalid` for a specification that is out of bounds, `OutOfMemory` when the limit is too low to start. */
export function createParameters(options: WasmParametersOptions): Parameters {
  checkParameterSpec(options.spec);
  for (const { name, optimizer } of [...options.spec.dense, ...options.spec.sparse])
    checkOptimizerSpec(name, optimizer);
  checkShardCount(options.shards, options.seed);
  return new WasmParameters(options);
}

class WasmParameters implements Parameters {
  readonly #heap: KernelHeap;
  readonly #dense: readonly DenseParameter[];
  readonly #sparse: readonly SparseTable[];
  /** In the order of `storedTables`. */
  readonly #stored: readonly SparseTable[];
  /** By table; undefined: each id gets a row. */
  readonly #limited: readonly (LimitedTable | undefined)[];
  readonly #shardCount: number;
  readonly #hasRate: boolean;
  readonly #present = new Set<number>();
  /** Undefined: pushes are not of ids as they were pulled. */
  readonly #pulled: PulledRows | undefined;
  readonly #watchers = new Set<MemoryWatcher>();
  /** The sum that is currently in use. */
  #sum: LaneFold | undefined;

  constructor(options: WasmParametersOptions) {
    const { spec, shards } = options;
    this.#hasRate = [...spec.dense, ...spec.sparse].every(({ optimizer }) => hasLearningRate(optimizer));
    this.#heap = new KernelHeap(options.memoryLimitBytes);
    this.#pulled = options.recallsPulls === true ? new PulledRows(this.#heap) : undefined;
    this.#dense = spec.dense.map((dense) => {
      const optimizer = createOptimizer(this.#heap, dense.optimizer);
      return new DenseParameter(this.#heap, dense, optimizer, options);
    });
    const byteLength = workspaceBytes(Math.max(0, ...spec.sparse.map(({ width }) => width)), shards);
    const workspace = { address: this.#heap.allocate(byteLength), byteLength };
    const removing = (table: number) => (shard: number, ids: () => BigUint64Array) => {
      if (this.#watchers.size === 0) return;
      const listed = ids();
      if (listed.length > 0) for (const watcher of this.#watchers) watcher.removing(shard, table, listed);
    };
    this.#sparse = spec.sparse.map((sparse, table) => {
      const optimizer = createOptimizer(this.#heap, sparse.optimizer);
      const { hasSeen } = sparse;
      return new SparseTable(this.#heap, sparse, {
        ...{ ...options, optimizer, workspace, hasSeen, removing: removing(table) },
      });
    });
    const stored: SparseTable[] = [...this.#sparse];
    this.#limited = spec.sparse.map((rules, table) => {
      if (rules.admission === undefined && rules.shardBytes === undefined) return undefined;
      const optionsHere = { ...options, workspace, removing: removing(stored.length) };
      const limited = new LimitedTable(this.#heap, this.#sparse[table]!, rules, optionsHere);
      if (limited.candidates !== undefined) stored.push(limited.candidates);
      return limited;
    });
    this.#stored = stored;
    this.#shardCount = shards;
  }

  /** Everything that has parts of its own in a shard. */
  get #parts(): readonly (DenseParameter | SparseTable)[] {
    return [...this.#dense, ...this.#stored];
  }

  addShard(shard: number): void {
    assert(Number.isInteger(shard) && shard >= 0 && shard < this.#shardCount, 'shard is one of the job');
    assert(!this.#present.has(shard), 'a shard is added once');
    try {
      for (const part of this.#parts) part.addShard(shard);
    } catch (error) {
      for (const part of this.#parts) part.dropShard(shard);
      throw error;
    }
    this.#present.add(shard);
  }

  prepare(byteLength: number): void {
    this.#heap.prepare(byteLength);
  }

  dropShard(shard: number): void {
    assert(this.#present.delete(shard), 'the shard that is dropped is present');
    this.#pulled?.forget();
    this.#replacing(shard);
    this.#sum?.forgetRows();
    for (const part of this.#parts) part.dropShard(shard);
  }

  hasShard(shard: number): boolean {
    return this.#present.has(shard);
  }

  shards(): number[] {
    return [...this.#present].sort((a, b) => a - b);
  }

  stage(byteLength: number): Staging {
    return this.#heap.stage(byteLength);
  }

  #table(index: number): SparseTable {
    const table = this.#sparse[index];
    if (table === undefined) throw unknownParameter('table', index);
    return table;
  }

  /** A table of the model, or candidates: a place in the list of `storedTables`. */
  #storedTable(index: number): SparseTable {
    const table = this.#stored[index];
    if (table === undefined) throw unknownParameter('table', index);
    return table;
  }

  /** A stored table of a present shard. Throws `WrongShard`. */
  #storedOf(shard: number, index: number): SparseTable {
    const table = this.#storedTable(index);
    this.#requireShard(table.spec.name, shard);
    return table;
  }

  #parameter(index: number): DenseParameter {
    const parameter = this.#dense[index];
    if (parameter === undefined) throw unknownParameter('dense parameter', index);
    return parameter;
  }

  pullSparse(table: number, ids: Uint8Array, into: Uint8Array): void {
    const target = this.#table(table);
    const count = target.countIds(ids, into, 'room');
    const out = this.#heap.addressOf(into);
    if (out !== undefined) {
      // Ids outside of kernel memory are copied in, which may move `into`, but not its address.
      this.#heap.withInputs([ids], ([idsAt]) => {
        this.#whilePulling(target, idsAt!, count, (found) => target.pull(idsAt!, count, out, found));
      });
      return;
    }
    const rowBytes = 4 * target.spec.width;
    const rows = Math.max(1, Math.floor(PULL_PIECE_BYTES / rowBytes));
    this.#heap.withInputs([ids], ([idsAt]) =>
      this.#heap.withScratch(Math.min(count, rows) * rowBytes, (scratch) => {
        this.#whilePulling(target, idsAt!, count, (found) => {
          for (let from = 0; from < count; from += rows) {
            const some = Math.min(rows, count - from);
            target.pull(idsAt! + 8 * from, some, scratch, found && found + 4 * from);
            into.set(this.#heap.bytes.subarray(scratch, scratch + some * rowBytes), from * rowBytes);
          }
        });
      }),
    );
  }

  #whilePulling(table: SparseTable, ids: number, count: number, pull: (found: number) => void): void {
    if (this.#pulled === undefined) pull(0);
    else this.#pulled.during(table, ids, count, pull);
  }

  pullDense(parameter: number, blocks: Uint32Array, into: Uint8Array): void {
    this.#parameter(parameter).pull(blocks, into);
  }

  push(
    sparse: readonly SparsePart[],
    dense: readonly DensePart[],
    actions: Uint8Array,
    options: PushOptions = {},
  ): void {
    applyPush(this.#resolve(sparse, dense, actions, options));
  }

  pushKeeping(
    sparse: readonly SparsePart[],
    dense: readonly DensePart[],
    actions: Uint8Array,
    options: PushOptions = {},
  ): OldParts {
    return applyKeeping(this.#resolve(sparse, dense, actions, options));
  }

  withSum<T>(lanes: readonly LaneGradients[], use: (sum: LaneSum) => T): T {
    assert(this.#sum === undefined, 'there is one sum at a time');
    const sum = new LaneFold(this.#heap, this.#pulled);
    try {
      sum.fold(lanes, { dense: this.#dense.length, tables: this.#sparse });
      this.#sum = sum;
      return use(sum);
    } finally {
      this.#sum = undefined;
      sum.free();
    }
  }

  #mayRecall(): boolean {
    return this.#sum !== undefined || this.#pulled?.isEmpty === false;
  }

  #allApply(actions: Uint8Array): boolean {
    for (const shard of this.#present) if (actions[shard] !== SHARD_ACTION.apply) return false;
    return true;
  }

  check(sparse: readonly SparsePart[], dense: readonly DensePart[], actions: Uint8Array): void {
    checkPush(this.#resolve(sparse, dense, actions, {}));
  }

  #resolve(
    sparse: readonly SparsePart[],
    dense: readonly DensePart[],
    actions: Uint8Array,
    options: PushOptions,
  ): Push {
    assert(actions.length === this.#shardCount, 'a push says what each shard does');
    const { rateScale = 1 } = options;
    assert(rateScale === 1 || (this.#hasRate && rateScale > 0 && rateScale < 1), 'a rate is only made smaller');
    return {
      heap: this.#heap,
      sparse: sparse.map(({ table, ids, gradients }) => {
        const counts = options.counts?.[table];
        return { table: this.#table(table), limited: this.#limited[table], counts, ids, gradients };
      }),
      dense: dense.map(({ parameter, blocks, gradients }) => {
        // Copied: a view of kernel memory would end with the first allocation of the push.
        return { parameter: this.#parameter(parameter), blocks: blocks.slice(), gradients };
      }),
      actions,
      options,
      sum: this.#sum,
      pulled: this.#mayRecall() && this.#allApply(actions) ? this.#pulled : undefined,
    };
  }

  #requireShard(name: string, shard: number): void {
    if (!this.#present.has(shard)) throw wrongShard(name, shard);
  }

  sortedIds(table: number, shards: readonly number[] = this.shards()): BigUint64Array {
    return this.#storedTable(table).sortedIds(shards);
  }

  existingIds(table: number, ids: BigUint64Array): BigUint64Array {
    return this.#storedTable(table).existing(ids, this.shards());
  }

  rowsOf(shard: number, table: number): number {
    return this.#storedOf(shard, table).rowsOf(shard);
  }

  keepMostRecent(shard: number, table: number, isLoading: boolean): void {
    this.#limited[table]?.keepMostRecent(shard, isLoading);
  }

  removeIds(shard: number, table: number, ids: BigUint64Array): number {
    return this.#withCandidates(shard, table).reduce((sum, one) => sum + one.remove(shard, ids), 0);
  }

  removeUnseen(shard: number, table: number, seen: number): IdCounts {
    const [rows, candidates] = this.#withCandidates(shard, table).map((one) => one.removeUnseen(shard, seen));
    return { rows: rows!, candidates: candidates ?? 0 };
  }

  tableUse(shard: number, table: number): TableUse {
    const stored = this.#withCandidates(shard, table);
    const [rows, candidates = 0] = stored.map((one) => one.rowsOf(shard));
    return { rows: rows!, candidates, bytes: rows! * stored[0]!.rowBytes + candidates * CANDIDATE_BYTES };
  }

  lowerSeen(shard: number, by: number): void {
    this.#requireShard('seen', shard);
    for (const watcher of this.#watchers) watcher.lowering(shard);
    for (const one of this.#stored) if (one.hasSeen) one.lowerSeen(shard, by);
  }

  #replacing(shard: number): void {
    for (const watcher of this.#watchers) watcher.replacing(shard);
  }

  watch(watcher: MemoryWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** The rows of a table, and its candidates if it has any. */
  #withCandidates(shard: number, table: number): SparseTable[] {
    this.#requireShard(this.#table(table).spec.name, shard);
    const candidates = this.#limited[table]?.candidates;
    return candidates === undefined ? [this.#sparse[table]!] : [this.#sparse[table]!, candidates];
  }

  rowBytes(table: number): number {
    return this.#storedTable(table).rowBytes;
  }

  readRows(table: number, ids: BigUint64Array): ShardRows {
    return this.#storedTable(table).read(ids, this.shards());
  }

  readBlock(parameter: number, block: number): DenseBlock {
    const from = this.#parameter(parameter);
    if (block >= blockCount(from.spec)) throw badMessage(`${from.spec.name} does not have a block ${block}`);
    return from.export(parameter, block);
  }

  exportRows(shard: number, table: number, memory?: RowMemory): ShardRows {
    return this.#storedOf(shard, table).export(shard, memory);
  }

  exportSeen(shard: number, table: number, least: number, memory?: RowMemory): ShardRows {
    return this.#storedOf(shard, table).exportSeen(shard, least, memory);
  }

  exportBlocks(shard: number): DenseBlock[] {
    this.#requireShard('dense parameters', shard);
    return this.#dense.flatMap((parameter, index) =>
      parameter.blocksOf(shard).map((block) => parameter.export(index, block)),
    );
  }

  importRows(shard: number, table: number, rows: ShardRows): void {
    const into = this.#storedOf(shard, table);
    this.#replacing(shard);
    into.import(shard, rows);
  }

  importBlock(shard: number, block: DenseBlock): void {
    const into = this.#parameter(block.parameter);
    this.#replacing(shard);
    into.import(shard, block);
  }

  adoptRows(table: number, rows: ShardRows, shards: readonly number[]): void {
    const into = this.#storedTable(table);
    for (const shard of shards) {
      this.#requireShard(into.spec.name, shard);
      this.#replacing(shard);
    }
    into.adopt(shards, rows);
  }

  stats(shard?: number): ParameterMemoryStats {
    let rows = 0;
    let bytes = 0;
    for (const one of shard === undefined ? this.#present : [shard]) {
      this.#requireShard('parameter memory', one);
      for (const table of this.#sparse) rows += table.rowsOf(one);
      for (const part of this.#parts) bytes += part.bytesOf(one);
    }
    return { rows, bytes, reservedBytes: this.#heap.reservedBytes };
  }
}
