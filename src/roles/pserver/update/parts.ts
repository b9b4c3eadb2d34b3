/** Finds the units and shards that an update concerns, and makes the part of an update for some shards. */
import { shardsOfUnits, unitOf } from '../../../core/units/units.ts';
import type { RoundGradients } from '../../../tensor/parameters.ts';
import { partsOfShards, type ShardParts } from '../../../tensor/shard-parts.ts';
import type { Update } from './update.ts';

export interface UnitParts extends ShardParts {
  /** Number of units of the job. */
  readonly units: number;
}

/** Returns the units of `among` that the update concerns, ascending: for a push, those with shards that apply it. */
export function concernedUnits({ units }: UnitParts, update: Update, among: readonly number[]): number[] {
  const ascending = [...among].sort((a, b) => a - b);
  if (update.type !== 'push') return ascending;
  const isApplying = new Uint8Array(units);
  for (const shard of update.shards) isApplying[unitOf(shard, units)] = 1;
  return ascending.filter((unit) => isApplying[unit] === 1);
}

/** Returns the shards of these units that apply the update, ascending. */
export function applyingShards(of: UnitParts, update: Update, units: readonly number[]): readonly number[] {
  if (update.type !== 'push') return shardsOfUnits(units, of);
  const isWanted = new Uint8Array(of.units);
  for (const unit of units) isWanted[unit] = 1;
  return update.shards.filter((shard) => isWanted[unitOf(shard, of.units)] === 1).sort((a, b) => a - b);
}

/** Returns the part of the update for these shards. Its gradients are in separate memory. */
export function partOf(of: ShardParts, update: Update, shards: readonly number[]): Update {
  if (update.type === 'close') return update;
  const parts = partsOfShards(of, update, shards);
  const isWholeBuffer = new Set<unknown>(arraysOf(update).map(({ buffer }) => buffer));
  return namedFor({ ...update, ...copied(parts, ({ buffer }) => isWholeBuffer.has(buffer)) }, shards);
}

/** Returns the update with the same gradients. A push then names only those of `shards` that apply it. */
export function namedFor(update: Update, shards: readonly number[]): Update {
  if (update.type !== 'push') return update;
  const applying = new Set(update.shards);
  return { ...update, shards: shards.filter((shard) => applying.has(shard)) };
}

/** Returns the same update, with its gradients in separate memory. */
export const ownUpdate = (update: Update): Update =>
  update.type === 'close' ? update : { ...update, ...copied(update, () => true) };

type Numbers = Uint8Array | Uint32Array;

const arraysOf = ({ dense, sparse }: RoundGradients): Numbers[] => [
  ...dense.flatMap(({ blocks, gradients }) => [blocks, gradients]),
  ...sparse.flatMap(({ ids, gradients }) => [ids, gradients]),
];

/** Returns the gradients, with copies of the arrays for which `isCopied` is true. */
function copied({ dense, sparse }: RoundGradients, isCopied: (array: Numbers) => boolean): RoundGradients {
  const own = <T extends Numbers>(array: T): T => (isCopied(array) ? (array.slice() as T) : array);
  return {
    dense: dense.map((part) => ({ ...part, blocks: own(part.blocks), gradients: own(part.gradients) })),
    sparse: sparse.map((part) => ({ ...part, ids: own(part.ids), gradients: own(part.gradients) })),
  };
}
