/** Which units and shards an update concerns, and the part of it that some shards get. */
import { shardsOfUnits, unitOf } from '../../../core/units/units.ts';
import type { RoundGradients } from '../../../tensor/parameters.ts';
import { partsOfShards, type ShardParts } from '../../../tensor/shard-parts.ts';
import type { Update } from './update.ts';

export interface UnitParts extends ShardParts {
  /** Number of units of the job. */
  readonly units: number;
}

/** Those of the units that have shards which apply the update, ascending. */
export function concernedUnits({ units }: UnitParts, update: Update, among: readonly number[]): number[] {
  const ascending = [...among].sort((a, b) => a - b);
  if (update.type !== 'push') return ascending;
  const isApplying = new Uint8Array(units);
  for (const shard of update.shards) isApplying[unitOf(shard, units)] = 1;
  return ascending.filter((unit) => isApplying[unit] === 1);
}

/** The shards of these units that apply the update, ascending. */
export function applyingShards(of: UnitParts, update: Update, units: readonly number[]): readonly number[] {
  if (update.type !== 'push') return shardsOfUnits(units, of);
  const isWanted = new Uint8Array(of.units);
  for (const unit of units) isWanted[unit] = 1;
  return update.shards.filter((shard) => isWanted[unitOf(shard, of.units)] === 1).sort((a, b) => a - b);
}

/** The part of the update that these shards get. Its gradients are in memory of its own. */
export function partOf(of: ShardParts, update: Update, shards: readonly number[]): Update {
  if (update.type === 'close') return update;
  const parts = partsOfShards(of, update, shards);
  const isWholeBuffer = new Set<unknown>(arraysOf(update).map(({ buffer }) => buffer));
  return namedFor({ ...update, ...copied(parts, ({ buffer }) => isWholeBuffer.has(buffer)) }, shards);
}

/** The update with the same gradients. A push names those of the shards that apply it, and no others. */
export function namedFor(update: Update, shards: readonly number[]): Update {
  if (update.type !== 'push') return update;
  const applying = new Set(update.shards);
  return { ...update, shards: shards.filter((shard) => applying.has(shard)) };
}

/** The same update, with gradients in memory of its own. */
export const ownUpdate = (update: Update): Update =>
  update.type === 'close' ? update : { ...update, ...copied(update, () => true) };

type Numbers = Uint8Array | Uint32Array;

const arraysOf = ({ dense, sparse }: RoundGradients): Numbers[] => [
  ...dense.flatMap(({ blocks, gradients }) => [blocks, gradients]),
  ...sparse.flatMap(({ ids, gradients }) => [ids, gradients]),
];

/** With copies of some of its arrays. */
function copied({ dense, sparse }: RoundGradients, isCopied: (array: Numbers) => boolean): RoundGradients {
  const own = <T extends Numbers>(array: T): T => (isCopied(array) ? (array.slice() as T) : array);
  return {
    dense: dense.map((part) => ({ ...part, blocks: own(part.blocks), gradients: own(part.gradients) })),
    sparse: sparse.map((part) => ({ ...part, ids: own(part.ids), gradients: own(part.gradients) })),
  };
}
