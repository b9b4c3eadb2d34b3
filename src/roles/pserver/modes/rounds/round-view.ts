/**
 * Sync mode: a view of the shards at one round, captured shard by shard while the pserver applies later rounds
 * (docs/design.md §8). Before a round changes or removes a row or block, the view keeps its old value, once.
 */
import type { Capturable } from '../../../../checkpoint/file/capture.ts';
import type { TrainedSpec } from '../../../../tensor/optimizer.ts';
import type {
  DenseBlock,
  ParameterMemory,
  ParameterMemoryStats,
  RoundGradients,
  ShardRows,
} from '../../../../tensor/parameters.ts';
import { idOfPicked, type PickedRow, pickRows } from '../../../../tensor/pick-rows.ts';
import type { RowMemory } from '../../../../tensor/row-memory.ts';
import { shardOfRow } from '../../../../tensor/shard-hash.ts';
import { type StoredTable, storedTables } from '../../../../tensor/stored-tables.ts';

export interface RoundView extends Capturable {
  /** To be called before this round is applied. */
  keep(round: RoundGradients): void;
  /** Whether the shard has left or was put in since: then the view does not have it as it was. */
  hasLost(shard: number): boolean;
  /** Ends the view. */
  close(): void;
}

interface KeptTable {
  /** Where the old row of an id is kept; undefined if the row did not exist at the round of the view. */
  readonly places: Map<bigint, PickedRow | undefined>;
  /** Shard number → ids that may have been removed since then. Some of them may have a row now. */
  readonly removed: Map<number, Set<bigint>>;
}

interface KeptShard {
  readonly tables: readonly ShardRows[];
  readonly blocks: readonly DenseBlock[];
}

/** Makes a view of the round at which the shards are now. */
export function viewRound(parameters: ParameterMemory, job: ViewedJob): RoundView {
  return new View(parameters, job);
}

export interface ViewedJob {
  readonly spec: TrainedSpec;
  /** Number of shards of the job. */
  readonly shards: number;
}

class View implements RoundView {
  readonly #parameters: ParameterMemory;
  /** By stored table. */
  readonly #tables: readonly KeptTable[];
  /** By table of the model: the stored tables of its rows and of its candidates. */
  readonly #storedOf: readonly (readonly number[])[];
  readonly #stored: readonly StoredTable[];
  readonly #shards: number;
  readonly #blocks = new Map<string, DenseBlock>();
  /** Shards that were copied whole, because their rows would have another `seen` afterwards. */
  readonly #whole = new Map<number, KeptShard>();
  readonly #lost = new Set<number>();
  readonly close: () => void;

  constructor(parameters: ParameterMemory, { spec, shards }: ViewedJob) {
    const stored = storedTables(spec.sparse);
    this.#parameters = parameters;
    this.#shards = shards;
    this.#stored = stored;
    this.#tables = stored.map(() => ({ places: new Map(), removed: new Map() }));
    this.#storedOf = spec.sparse.map(({ name }) => stored.flatMap((one, place) => (one.name === name ? [place] : [])));
    this.close = parameters.watch({
      removing: (shard, table, ids) => this.#keepRemoved(shard, table, ids),
      lowering: (shard) => this.#keepShard(shard),
      replacing: (shard) => this.#lost.add(shard),
    });
  }

  keep({ dense, sparse }: RoundGradients): void {
    for (const { table, ids } of sparse) {
      const copied = idsIn(ids);
      for (const stored of this.#storedOf[table]!) this.#keepRows(stored, copied);
    }
    for (const { parameter, blocks } of dense) {
      for (const block of blocks) {
        const name = nameOf(parameter, block);
        if (!this.#blocks.has(name)) this.#blocks.set(name, this.#parameters.readBlock(parameter, block));
      }
    }
  }

  hasLost(shard: number): boolean {
    return this.#lost.has(shard);
  }

  exportRows(shard: number, table: number, memory?: RowMemory): ShardRows {
    const whole = this.#whole.get(shard);
    if (whole !== undefined) return whole.tables[table]!;
    const { places, removed } = this.#tables[table]!;
    const current = this.#parameters.exportRows(shard, table, memory);
    return places.size === 0 ? current : withKeptRows(current, places, removed.get(shard) ?? []);
  }

  exportSeen(shard: number, table: number, least: number, memory?: RowMemory): ShardRows {
    const whole = this.#whole.get(shard);
    if (whole !== undefined) return rowsSeen(whole.tables[table]!, least);
    const { places, removed } = this.#tables[table]!;
    // A row that has changed since is among them, but was perhaps seen too early at the round of the view.
    const current = this.#parameters.exportSeen(shard, table, least, memory);
    return places.size === 0 ? current : rowsSeen(withKeptRows(current, places, removed.get(shard) ?? []), least);
  }

  exportBlocks(shard: number): DenseBlock[] {
    const whole = this.#whole.get(shard);
    if (whole !== undefined) return [...whole.blocks];
    return this.#parameters
      .exportBlocks(shard)
      .map((current) => this.#blocks.get(nameOf(current.parameter, current.block)) ?? current);
  }

  stats(shard?: number): ParameterMemoryStats {
    return this.#parameters.stats(shard);
  }

  #keepRows(table: number, ids: BigUint64Array): void {
    const { places } = this.#tables[table]!;
    const fresh = ids.filter((id) => !places.has(id));
    const rows = this.#parameters.readRows(table, this.#parameters.existingIds(table, fresh));
    for (const id of fresh) places.set(id, undefined);
    rows.ids.forEach((id, at) => void places.set(id, { rows, at }));
    // The round may give a candidate its row. Then it is no longer a candidate.
    const { kind, name } = this.#stored[table]!;
    if (kind === 'candidates')
      for (const id of rows.ids) this.#markRemoved(shardOfRow(name, id, this.#shards), table, id);
  }

  #keepRemoved(shard: number, table: number, ids: BigUint64Array): void {
    this.#keepRows(table, ids);
    for (const id of ids) this.#markRemoved(shard, table, id);
  }

  #markRemoved(shard: number, table: number, id: bigint): void {
    const { removed } = this.#tables[table]!;
    const known = removed.get(shard);
    if (known === undefined) removed.set(shard, new Set([id]));
    else known.add(id);
  }

  #keepShard(shard: number): void {
    if (this.#whole.has(shard)) return;
    const tables = this.#tables.map((_, table) => this.exportRows(shard, table));
    this.#whole.set(shard, { tables, blocks: this.exportBlocks(shard) });
  }
}

const nameOf = (parameter: number, block: number): string => `${parameter}/${block}`;

/** Copies the bytes, because they may be unaligned. */
const idsIn = (bytes: Uint8Array): BigUint64Array => new BigUint64Array(new Uint8Array(bytes).buffer);

/** The rows whose `seen` is at least `least`. */
function rowsSeen(rows: ShardRows, least: number): ShardRows {
  const places = [...rows.ids.keys()].filter((at) => rows.seen![at]! >= least);
  return places.length === rows.ids.length
    ? rows
    : pickRows(
        rows,
        places.map((at) => ({ rows, at })),
      );
}

/**
 * The rows at the round of the view, sorted by id: changed and removed rows have their old values, and rows created
 * since then are left out.
 */
function withKeptRows(
  current: ShardRows,
  places: ReadonlyMap<bigint, PickedRow | undefined>,
  removed: Iterable<bigint>,
): ShardRows {
  const sources: PickedRow[] = [];
  const gone = new Set(removed);
  current.ids.forEach((id, at) => {
    gone.delete(id);
    const source = places.has(id) ? places.get(id) : { rows: current, at };
    if (source !== undefined) sources.push(source);
  });
  for (const id of gone) {
    const source = places.get(id);
    if (source !== undefined) sources.push(source);
  }
  if (gone.size > 0) sources.sort((a, b) => (idOfPicked(a) < idOfPicked(b) ? -1 : 1));
  return pickRows(current, sources);
}
