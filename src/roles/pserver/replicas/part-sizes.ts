/**
 * How large the part of each unit is in an update. It depends on nothing but that part, so a primary and its backups
 * find the same, whichever units the update has at each of them: both count the room that it takes.
 */
import { LIMITS } from '../../../base/limits.ts';
import type { BackupRoomOptions } from '../../../core/replicas/backup-room.ts';
import { roomOfPart } from '../../../core/replicas/peer-link.ts';
import { shardsOfUnits, unitOf } from '../../../core/units/units.ts';
import { blockLength, blockShards } from '../../../tensor/blocks.ts';
import type { RoundGradients } from '../../../tensor/parameters.ts';
import type { ShardParts } from '../../../tensor/shard-parts.ts';
import type { ForwardedUpdate } from '../units/forwarded-update.ts';

export interface UnitParts extends ShardParts {
  /** Of the job. */
  readonly units: number;
}

export interface PartSizes {
  /** Units ascending. */
  readonly bytesByUnit: ReadonlyMap<number, number>;
  /** What the update carries in segments, of all its units. */
  readonly segmentBytes: number;
  /** There are rows or blocks of other units, or of shards that do not apply the update. */
  readonly hasOthers: boolean;
}

/** What a task or a mini-batch takes in memory, about. */
const LISTED_BYTES = 64;
const SHARD_BYTES = 4;
const BLOCK_BYTES = 4;
const ID_BYTES = 8;
const FLOAT_BYTES = 4;

/** No update takes more room at a peer. `units`: of the job. */
export function mostRoom(units: number): number {
  const listed = LISTED_BYTES * Math.max(LIMITS.closedTasksAtOnce, LIMITS.lanes);
  return LIMITS.replicatedBytes + units * (roomOfPart(0) + listed);
}

/** Those of the units that have shards which apply the update, ascending. */
export function concernedUnits({ units }: UnitParts, update: ForwardedUpdate, among: readonly number[]): number[] {
  const ascending = [...among].sort((a, b) => a - b);
  if (update.type !== 'push') return ascending;
  const isApplying = new Uint8Array(units);
  for (const shard of update.shards) isApplying[unitOf(shard, units)] = 1;
  return ascending.filter((unit) => isApplying[unit] === 1);
}

/** The shards of these units that apply the update, ascending. */
export function applyingShards(of: UnitParts, update: ForwardedUpdate, units: readonly number[]): readonly number[] {
  if (update.type !== 'push') return shardsOfUnits(units, of);
  const isWanted = new Uint8Array(of.units);
  for (const unit of units) isWanted[unit] = 1;
  return update.shards.filter((shard) => isWanted[unitOf(shard, of.units)] === 1).sort((a, b) => a - b);
}

/** `units`: that it concerns. `shards`: of these, that apply it. */
export function partSizes(
  of: UnitParts,
  update: ForwardedUpdate,
  units: readonly number[],
  shards: readonly number[],
): PartSizes {
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

function listedBytes(update: ForwardedUpdate): number {
  switch (update.type) {
    case 'push':
      return 0;
    case 'close':
      return LISTED_BYTES * update.tasks.length;
    case 'round':
      return LISTED_BYTES * update.batches.length;
  }
}

/** What is of none of the shards goes to the last place of `bytes`. */
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

/** What each primary may have staged at a backup. Larger updates go alone. */
const WINDOW_BYTES = 64 * 2 ** 20;

/** The room of a backup in a job that may have so many pservers. */
export function roomFor(units: number, mostPservers: number): BackupRoomOptions {
  const largestBytes = mostRoom(units);
  return { windowBytes: WINDOW_BYTES, lateBytes: mostPservers * largestBytes, largestBytes };
}
