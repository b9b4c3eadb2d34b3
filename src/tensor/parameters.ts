/**
 * The parameter memory of one pserver: dense blocks and sparse rows of the shards it holds, with their optimizer state,
 * in WebAssembly memory (docs/design.md §3). Everything here is synchronous, so no caller sees half an update.
 *
 * This file is the interface; `createParameters` in `wasm-parameters.ts` makes one.
 */

import type { UpdateName } from './admission/admission.ts';
import type { IdCounts, TableCounts, TableUse } from './admission/table-counts.ts';
import type { TrainedSpec } from './optimizer.ts';
import type { RowMemory } from './row-memory.ts';

/** A region of kernel memory. `bytes()` is made at each use: memory growth moves what earlier views showed. */
export interface Staging {
  readonly byteLength: number;
  bytes(): Uint8Array;
  /**
   * Until `free`, calls `run` as soon as the memory has moved: earlier views must not even be written to. Call it
   * once.
   */
  onMoved(run: () => void): void;
  /**
   * The first `byteLength` bytes have arrived and will not change. Checks them for NaN and infinity now, while they are
   * in the cache, instead of when they are pushed.
   */
  arrived(byteLength: number): void;
  free(): void;
}

export interface SparsePart {
  /** Index into `ParameterSpec.sparse`. */
  readonly table: number;
  /** n ids, u64 little-endian, 8-byte aligned. */
  readonly ids: Uint8Array;
  /** n × width gradients, f32. */
  readonly gradients: Uint8Array;
}

export interface DensePart {
  /** Index into `ParameterSpec.dense`. */
  readonly parameter: number;
  /** Block numbers, ascending, u32. */
  readonly blocks: Uint32Array;
  /** The blocks' gradients one after the other, f32. */
  readonly gradients: Uint8Array;
}

/** What one lane brings to a round in sync mode. */
export interface LaneGradients {
  /** Good records that the gradients are the mean of. */
  readonly records: number;
  readonly dense: readonly DensePart[];
  readonly sparse: readonly SparsePart[];
}

/** The mean over all lanes. */
export interface RoundGradients {
  readonly dense: readonly DensePart[];
  /** Each id once a table. */
  readonly sparse: readonly SparsePart[];
}

export interface LaneSum {
  /** Views of kernel memory, which end with its next allocation. */
  parts(): RoundGradients;
  copy(): RoundGradients;
}

/** Values as they were before a push, part by part: of rows that did not exist, the initial ones. */
export interface OldParts {
  readonly dense: readonly Uint8Array<ArrayBuffer>[];
  readonly sparse: readonly Uint8Array<ArrayBuffer>[];
}

/** One shard's part of one stored table (stored-tables.ts), sorted by id (unsigned). The content of a checkpoint. */
export interface ShardRows {
  readonly ids: BigUint64Array;
  /** n × width. */
  readonly values: Float32Array;
  /** Optimizer slots by name (`m`, `v`, `accumulator`, `z`, `n`, …), each n × width. */
  readonly slots: Readonly<Record<string, Float32Array>>;
  /** Update counts per row, where the optimizer keeps them (Adam, AdamW); those of candidates. */
  readonly steps: Uint32Array | undefined;
  /** `seen` of each row, in tables whose rows have one. Rows that are put in without it get 0. */
  readonly seen?: Uint32Array | undefined;
}

export interface DenseBlock {
  readonly parameter: number;
  readonly block: number;
  readonly values: Float32Array;
  readonly slots: Readonly<Record<string, Float32Array>>;
  readonly step: number | undefined;
}

export interface ParameterMemoryStats {
  readonly rows: number;
  /** Bytes in use by rows, blocks and indexes. */
  readonly bytes: number;
  /** Bytes of WebAssembly memory reserved. */
  readonly reservedBytes: number;
}

/** What a push may do to a shard it touches. */
export const SHARD_ACTION = { absent: 0, apply: 1, skip: 2 } as const;

/** Is called before a memory changes by more than the values of the rows that an update names. */
export interface MemoryWatcher {
  /** These ids are about to be removed from a stored table of a shard. Some may have no row. */
  removing(shard: number, table: number, ids: BigUint64Array): void;
  /** The `seen` of all rows of a shard are about to be lowered. */
  lowering(shard: number): void;
  /** A shard is about to get what no update made of it: it is dropped, or rows or blocks are put in. */
  replacing(shard: number): void;
}

/** The settings of a push. */
export interface PushOptions {
  /**
   * The learning rate is multiplied by it; that of a statistic is not. FTRL has no rate: where a parameter has FTRL, it
   * must be 1, which is the default.
   */
  readonly rateScale?: number | undefined;
  /** By shard, the `seen` of the named rows. Required if the push has a table with `seen`. */
  readonly seen?: Uint32Array | undefined;
  /** Name of the update, which decides draws. Required if the push has a table with an admission rule or a bound. */
  readonly name?: UpdateName | undefined;
  /** By table: the push adds what it does with ids. Tables without counts are not counted. */
  readonly counts?: readonly (TableCounts | undefined)[] | undefined;
}

/**
 * Parameter memory that is read, filled and emptied. Updates are applied through `Parameters`. Where rows are exported,
 * imported or read with their state, `table` is a place in `storedTables`, so that candidates are handled like rows.
 */
export interface ParameterMemory {
  /** Makes the shard present and empty: dense blocks at their initial values, no rows. */
  addShard(shard: number): void;
  /** A hint that this number of bytes will be put in: makes room for them at once if possible. */
  prepare(byteLength: number): void;
  dropShard(shard: number): void;
  hasShard(shard: number): boolean;
  shards(): number[];

  /** Kernel memory for a payload to land in. Throws `OutOfMemory`. */
  stage(byteLength: number): Staging;

  /**
   * Values of rows: present ones as they are, absent ones as their initial value, which is computed and **not** stored.
   * Throws `WrongShard` when an id's shard is not present. Writes n × width f32 into `into`.
   */
  pullSparse(table: number, ids: Uint8Array, into: Uint8Array): void;
  /** Values of blocks, one after the other. Throws `WrongShard`. */
  pullDense(parameter: number, blocks: Uint32Array, into: Uint8Array): void;

  /**
   * Runs `use` with the sum of the lanes (lane-fold.ts). A push of its parts by `use` finds rows where the pulls of the
   * lanes have found them. Throws `OutOfMemory`.
   */
  withSum<T>(lanes: readonly LaneGradients[], use: (sum: LaneSum) => T): T;

  /** Throws what `push` would throw, except `OutOfMemory`; applies nothing. */
  check(sparse: readonly SparsePart[], dense: readonly DensePart[], actions: Uint8Array): void;

  /** Ids of all rows of a table in these present shards, sorted unsigned; without them in all that are present. */
  sortedIds(table: number, shards?: readonly number[]): BigUint64Array;
  /** Those of `ids` that have a row, in their order. Throws `WrongShard`. */
  existingIds(table: number, ids: BigUint64Array): BigUint64Array;
  /** Bytes of a row as `readRows` copies it, with its id and its state. */
  rowBytes(table: number): number;
  /**
   * Rows that exist, in the order of `ids`. In a table whose rows may be removed, ids without a row are left out.
   * Throws `WrongShard`.
   */
  readRows(table: number, ids: BigUint64Array): ShardRows;
  /** Throws `WrongShard`. */
  readBlock(parameter: number, block: number): DenseBlock;
  /** Copies rows into `memory`, or into new arrays. */
  exportRows(shard: number, table: number, memory?: RowMemory): ShardRows;
  /** As `exportRows`, but only rows whose `seen` is at least `least`. The table has `seen`. */
  exportSeen(shard: number, table: number, least: number, memory?: RowMemory): ShardRows;
  exportBlocks(shard: number): DenseBlock[];
  /** Puts rows into a present shard, replacing rows of the same id. */
  importRows(shard: number, table: number, rows: ShardRows): void;
  importBlock(shard: number, block: DenseBlock): void;
  /** Calls the watcher until the returned function is called. */
  watch(watcher: MemoryWatcher): () => void;
  /** Puts in the rows that belong to the given present shards, and skips the others. Ids are distinct. */
  adoptRows(table: number, rows: ShardRows, shards: readonly number[]): void;
  /** Number of rows of a table in a present shard. */
  rowsOf(shard: number, table: number): number;
  /**
   * After `adoptRows`: removes from a shard what is too much for the bound of a table. The most recent rows stay, then
   * the most recent candidates as far as there is room. While the shard `isLoading`, it may exceed its limits a little.
   * `table` is a place in the tables of the model.
   */
  keepMostRecent(shard: number, table: number, isLoading: boolean): void;
  /**
   * Removes those of the ids that are rows or candidates in a present shard, and returns their number. Later pulls of
   * them get initial values; their memory goes to new rows of the shard. The table has `seen`. Throws `WrongShard`.
   */
  removeIds(shard: number, table: number, ids: BigUint64Array): number;
  /** Lowers every `seen` of a present shard, down to 0 at most. */
  lowerSeen(shard: number, by: number): void;

  stats(shard?: number): ParameterMemoryStats;
  /** Rows and candidates of a table in a present shard. */
  tableUse(shard: number, table: number): TableUse;
}

/** With updates. On a pserver only `Held` applies them (src/roles/pserver/held/held.ts). */
export interface Parameters extends ParameterMemory {
  /**
   * Checks everything (ids and blocks in present shards, sizes, finite gradients: `WrongShard`, `BadMessage`,
   * `BadGradient`), then applies everything, or throws and has changed nothing. `actions[shard]` is a SHARD_ACTION:
   * parts of shards marked `skip` are skipped (duplicates by the ledger), `absent` refuses the push.
   * A table or parameter comes in one part, and an id once in it: else `BadMessage`. Applying creates rows. In a table
   * with a bound, it may remove others.
   */
  push(sparse: readonly SparsePart[], dense: readonly DensePart[], actions: Uint8Array, options?: PushOptions): void;

  /** As `push`, and gives the values before it. No shard of the parts is skipped. */
  pushKeeping(
    sparse: readonly SparsePart[],
    dense: readonly DensePart[],
    actions: Uint8Array,
    options?: PushOptions,
  ): OldParts;

  /** As `removeIds`, of all rows and candidates whose `seen` is at most `seen`. Returns both numbers. */
  removeUnseen(shard: number, table: number, seen: number): IdCounts;
}

export interface ParametersOptions {
  readonly spec: TrainedSpec;
  /** The job's seed: first values depend on (seed, name, row id, column) and on nothing else. */
  readonly seed: number;
  /** Shards of the job. */
  readonly shards: number;
  /** Ids are mostly pushed as they were pulled: where a pull has found its rows is kept for that. */
  readonly recallsPulls?: boolean;
}
