/**
 * Sync mode: a view of the shards at one round, captured shard by shard while the pserver applies later rounds
 * (docs/design.md §8). Before a round changes a row or block, the view keeps its old value, once.
 */
import type { Capturable } from '../../../../checkpoint/file/capture.ts';
import type { DenseBlock, ParameterMemory, RoundGradients, ShardRows } from '../../../../tensor/parameters.ts';

export interface RoundView extends Capturable {
  /** To be called before this round is applied. */
  keep(round: RoundGradients): void;
}

interface KeptTable {
  /** Where the old row of an id is kept; undefined if the row did not exist at the round of the view. */
  readonly places: Map<bigint, { readonly rows: ShardRows; readonly at: number } | undefined>;
}

/** Makes a view of the round at which the shards are now. */
export function viewRound(parameters: ParameterMemory): RoundView {
  const tables = new Map<number, KeptTable>();
  const blocks = new Map<string, DenseBlock>();
  return {
    keep({ dense, sparse }) {
      for (const { table, ids } of sparse) keepRows(parameters, table, idsIn(ids), keptOf(tables, table));
      for (const { parameter, blocks: numbers } of dense) {
        for (const block of numbers) {
          const name = nameOf(parameter, block);
          if (!blocks.has(name)) blocks.set(name, parameters.readBlock(parameter, block));
        }
      }
    },
    exportRows(shard, table, memory) {
      const current = parameters.exportRows(shard, table, memory);
      const kept = tables.get(table);
      return kept === undefined ? current : withKeptRows(current, kept);
    },
    exportBlocks: (shard) =>
      parameters.exportBlocks(shard).map((current) => blocks.get(nameOf(current.parameter, current.block)) ?? current),
    stats: (shard) => parameters.stats(shard),
  };
}

const nameOf = (parameter: number, block: number): string => `${parameter}/${block}`;

function keptOf(tables: Map<number, KeptTable>, table: number): KeptTable {
  const known = tables.get(table);
  if (known !== undefined) return known;
  const kept: KeptTable = { places: new Map() };
  tables.set(table, kept);
  return kept;
}

/** Copies the bytes, because they may be unaligned. */
const idsIn = (bytes: Uint8Array): BigUint64Array => new BigUint64Array(new Uint8Array(bytes).buffer);

function keepRows(parameters: ParameterMemory, table: number, ids: BigUint64Array, { places }: KeptTable): void {
  const fresh = ids.filter((id) => !places.has(id));
  const rows = parameters.readRows(table, parameters.existingIds(table, fresh));
  for (const id of fresh) places.set(id, undefined);
  rows.ids.forEach((id, at) => void places.set(id, { rows, at }));
}

/** The rows at the round of the view: changed rows have their old values, and rows created since then are left out. */
function withKeptRows(current: ShardRows, { places }: KeptTable): ShardRows {
  const { ids } = current;
  const existed = [...ids.keys()].filter((at) => !places.has(ids[at]!) || places.get(ids[at]!) !== undefined);
  const sources = existed.map((at) => places.get(ids[at]!) ?? { rows: current, at });
  const gather = (width: number, pick: (rows: ShardRows) => Float32Array): Float32Array => {
    const gathered = new Float32Array(sources.length * width);
    sources.forEach(({ rows, at }, i) => {
      gathered.set(pick(rows).subarray(at * width, (at + 1) * width), i * width);
    });
    return gathered;
  };
  const widthOf = (field: Float32Array): number => (ids.length === 0 ? 0 : field.length / ids.length);
  return {
    ids: BigUint64Array.from(existed, (at) => ids[at]!),
    values: gather(widthOf(current.values), (rows) => rows.values),
    slots: Object.fromEntries(
      Object.entries(current.slots).map(([name, field]) => [name, gather(widthOf(field), (rows) => rows.slots[name]!)]),
    ),
    steps: current.steps && Uint32Array.from(sources, ({ rows, at }) => rows.steps![at]!),
  };
}
