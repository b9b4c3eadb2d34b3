/**
 * Computes the size of an update in each unit that it concerns. The windows of moves and the room at backups both count
 * this size. The size of a unit's part depends on that part alone. So a primary and its backups compute the same size,
 * whichever other units the update has at each of them.
 */
import { LIMITS } from '../../../base/limits.ts';
import { unitOf } from '../../../core/units/units.ts';
import { blockLength, blockShards } from '../../../tensor/blocks.ts';
import type { RoundGradients } from '../../../tensor/parameters.ts';
import type { UnitParts } from './parts.ts';
import type { Update } from './update.ts';

export interface UpdateSizes {
  /** Unit → size of its part; units ascending. */
  readonly bytesByUnit: ReadonlyMap<number, number>;
  /** Size of the segments of the update, for all these units together. */
  readonly segmentBytes: number;
  /** The update has rows or blocks of other units, or of shards that do not apply it. */
  readonly hasOthers: boolean;
}

/** Approximate memory of a listed task or mini-batch, in bytes. */
const LISTED_BYTES = 64;
const SHARD_BYTES = 4;
const BLOCK_BYTES = 4;
const ID_BYTES = 8;
const FLOAT_BYTES = 4;

/** Most bytes that the list of tasks or mini-batches of a part counts, in addition to its segments. */
export const MOST_LISTED_BYTES = LISTED_BYTES * Math.max(LIMITS.closedTasksAtOnce, LIMITS.lanes);

/** `units`: the units that the update concerns. `shards`: the shards of these units that apply it. */
export function sizesOf(
  of: UnitParts,
  update: Update,
  units: readonly number[],
  shards: readonly number[],
): UpdateSizes {
  const bytes = new Float64Array(of.units + 1);
  if (update.type === 'push') for (const shard of shards) bytes[unitOf(shard, of.units)]! += SHARD_BYTES;
  if (update.type !== 'close') addGradients(of, update, shards, bytes);
  const listed = listedBytes(update);
  return {
    bytesByUnit: new Map(units.map((unit) => [unit, listed + bytes[unit]!])),
    segmentBytes: units.reduce((sum, unit) => sum + bytes[unit]!, 0),
    hasOthers: bytes[of.units]! > 0,
  };
}

function listedBytes(update: Update): number {
  switch (update.type) {
    case 'push':
      return 0;
    case 'close':
      return LISTED_BYTES * update.tasks.length;
    case 'round':
      return LISTED_BYTES * update.batches.length;
  }
}

/** Adds the sizes of gradients to `bytes`. Its last element counts gradients of shards that do not apply the update. */
function addGradients(
  { spec, shards, units, router }: UnitParts,
  { dense, sparse }: RoundGradients,
  applying: readonly number[],
  bytes: Float64Array,
): void {
  const unitOfShard = new Int32Array(shards).fill(units);
  for (const shard of applying) unitOfShard[shard] = unitOf(shard, units);
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
    for (let unit = 0; unit < rows.length; unit++) bytes[unit]! += rows[unit]! * (ID_BYTES + FLOAT_BYTES * width);
  }
}
