/**
 * The shards as they are at one round, to be captured one after the other while later rounds are applied (DESIGN §8: sync
 * capture is of one round, by row and block pre-images). What a round is about to change is kept first, once.
 */
import type { Capturable } from '../../../checkpoint/file/capture.ts';
import type { RoundGradients } from '../../../tensor/lane-fold.ts';
import type { DenseBlock, Parameters, ShardRows } from '../../../tensor/parameters.ts';

export interface FrozenShards extends Capturable {
  /** Before a round is applied that changes these. */
  keep(round: RoundGradients): void;
}

interface KeptTable {
  /** Where the row of an id is kept; undefined for a row that did not exist. */
  readonly places: Map<bigint, { readonly rows: ShardRows; readonly at: number } | undefined>;
}

export function freezeShards(parameters: Parameters): FrozenShards {
  const tables = new Map<number, KeptTable>();
  const blocks = new Map<string, DenseBlock>();
  return {
    keep({ dense, sparse }) {
      for (const { table, ids } of sparse) keepRows(parameters, table, idsIn(ids), keptOf(tables, table));
      for (const { parameter, blocks: numbers } of dense) {
        for (const block of numbers) {
          const name = `${parameter}/${block}`;
          if (!blocks.has(name)) blocks.set(name, parameters.readBlock(parameter, block));
        }
      }
    },
    exportRows(shard, table, memory) {
      const now = parameters.exportRows(shard, table, memory);
      const kept = tables.get(table);
      return kept === undefined ? now : asTheyWere(now, kept);
    },
    exportBlocks: (shard) =>
      parameters.exportBlocks(shard).map((now) => blocks.get(`${now.parameter}/${now.block}`) ?? now),
    stats: (shard) => parameters.stats(shard),
  };
}

function keptOf(tables: Map<number, KeptTable>, table: number): KeptTable {
  const known = tables.get(table);
  if (known !== undefined) return known;
  const kept: KeptTable = { places: new Map() };
  tables.set(table, kept);
  return kept;
}

/** A copy, as the bytes may begin anywhere. */
const idsIn = (bytes: Uint8Array): BigUint64Array => new BigUint64Array(new Uint8Array(bytes).buffer);

function keepRows(parameters: Parameters, table: number, ids: BigUint64Array, { places }: KeptTable): void {
  const fresh = ids.filter((id) => !places.has(id));
  const rows = parameters.readRows(table, parameters.existingIds(table, fresh));
  for (const id of fresh) places.set(id, undefined);
  rows.ids.forEach((id, at) => void places.set(id, { rows, at }));
}

function asTheyWere(now: ShardRows, { places }: KeptTable): ShardRows {
  const there = [...now.ids.keys()].filter((at) => !places.has(now.ids[at]!) || places.get(now.ids[at]!) !== undefined);
  const sources = there.map((at) => places.get(now.ids[at]!) ?? { rows: now, at });
  const gather = (width: number, pick: (rows: ShardRows) => Float32Array): Float32Array => {
    const gathered = new Float32Array(sources.length * width);
    sources.forEach(({ rows, at }, i) => {
      gathered.set(pick(rows).subarray(at * width, (at + 1) * width), i * width);
    });
    return gathered;
  };
  const widthOf = (field: Float32Array): number => (now.ids.length === 0 ? 0 : field.length / now.ids.length);
  return {
    ids: BigUint64Array.from(there, (at) => now.ids[at]!),
    values: gather(widthOf(now.values), (rows) => rows.values),
    slots: Object.fromEntries(
      Object.entries(now.slots).map(([name, field]) => [name, gather(widthOf(field), (rows) => rows.slots[name]!)]),
    ),
    steps: now.steps && Uint32Array.from(sources, ({ rows, at }) => rows.steps![at]!),
  };
}
