/**
 * How large the part of each unit is in an update. It depends on nothing but that part, so a primary and its backups
 * find the same, whichever units the update has at each of them: both count the room that it takes.
 */
import { shardsOfUnit, unitOf } from '../../../core/units/units.ts';
import { blockLength, blockShards } from '../../../tensor/blocks.ts';
import type { RoundGradients } from '../../../tensor/lane-fold.ts';
import type { ShardParts } from '../../../tensor/shard-parts.ts';
import type { ForwardedUpdate } from '../units/forwarded-update.ts';

export interface UnitParts extends ShardParts {
  /** Of the job. */
  readonly units: number;
}

export interface PartSizes {
  /** Units ascending. */
  readonly bytesByUnit: ReadonlyMap<number, number>;
  /** There are rows or blocks of other units, or of shards that do not apply the update. */
  readonly hasOthers: boolean;
}

/** What a task or a mini-batch takes in memory, about. */
const LISTED_BYTES = 64;
const SHARD_BYTES = 4;
const BLOCK_BYTES = 4;
const ID_BYTES = 8;
const FLOAT_BYTES = 4;

/** `applying`: the shards that apply it, by unit, ascending. */
export function partSizes(
  of: UnitParts,
  update: ForwardedUpdate,
  applying: ReadonlyMap<number, readonly number[]>,
): PartSizes {
  const bytes = new Float64Array(of.units + 1);
  for (const [unit, shards] of applying) bytes[unit] = listedBytes(update, shards.length);
  if (update.type !== 'close') addGradients(of, update, applying, bytes);
  const bytesByUnit = new Map([...applying.keys()].map((unit) => [unit, bytes[unit]!]));
  return { bytesByUnit, hasOthers: bytes[of.units]! > 0 };
}

/** The shards that apply an update which is placed in these units, by unit, both ascending. */
export function applyingShards(
  of: UnitParts,
  update: ForwardedUpdate,
  units: readonly number[],
): Map<number, readonly number[]> {
  const ascending = [...units].sort((a, b) => a - b);
  if (update.type !== 'push') return new Map(ascending.map((unit) => [unit, shardsOfUnit(unit, of)]));
  const lists = new Map<number, number[]>(ascending.map((unit) => [unit, []]));
  for (const shard of [...update.shards].sort((a, b) => a - b)) lists.get(unitOf(shard, of.units))?.push(shard);
  return new Map([...lists].filter(([, shards]) => shards.length > 0));
}

function listedBytes(update: ForwardedUpdate, shards: number): number {
  switch (update.type) {
    case 'push':
      return SHARD_BYTES * shards;
    case 'close':
      return LISTED_BYTES * update.tasks.length;
    case 'round':
      return LISTED_BYTES * update.batches.length;
  }
}

/** What is of no unit here goes to the last place of `bytes`. */
function addGradients(
  { spec, shards, units, router }: UnitParts,
  { dense, sparse }: RoundGradients,
  applying: ReadonlyMap<number, readonly number[]>,
  bytes: Float64Array,
): void {
  const unitOfShard = new Int32Array(shards).fill(units);
  for (const [unit, own] of applying) for (const shard of own) unitOfShard[shard] = unit;
  for (const { parameter, blocks } of dense) {
    const one = spec.dense[parameter]!;
    const shardOf = blockShards(one, shards);
    for (const block of blocks) {
      bytes[unitOfShard[shardOf[block]!]!]! += BLOCK_BYTES + FLOAT_BYTES * blockLength(one, block);
    }
  }
  for (const { table, ids } of sparse) {
    const { name, width } = spec.sparse[table]!;
    const rows = router.tally(name, ids, ids.byteLength / ID_BYTES, unitOfShard, units + 1);
    rows.forEach((count, unit) => {
      bytes[unit]! += count * (ID_BYTES + FLOAT_BYTES * width);
    });
  }
}
