/** Which published files may go (DESIGN §8): only what newer published files replace, shard by shard. */
import { type CoveredShards, coveredShards } from '../file/coverage.ts';
import { type CheckpointEntry, type Generation, generationsOf } from './entry.ts';

export interface RetentionOptions {
  /** Generations to keep beside the newest. */
  readonly keep: number;
  /** Entries of the other pservers: a shard that moved away is in newer files of theirs. */
  readonly others: readonly CheckpointEntry[];
  /** Files that must stay whatever `keep` says, for example those of the last complete cut. */
  readonly isProtected: (generation: Generation) => boolean;
}

export interface Retention {
  /** Newest first. */
  readonly kept: Generation[];
  readonly dropped: string[];
}

/** Sorts the files before `newest`, which are given newest first. */
export function retain(newest: Generation, before: readonly Generation[], options: RetentionOptions): Retention {
  const foreign = options.others.flatMap(generationsOf).map(shardsOf);
  // Of one index a file published later is newer for every shard in it: its epoch or its seq is higher.
  const newerOwn = new Set(shardsOf(newest)?.keys());
  const kept: Generation[] = [];
  const dropped: string[] = [];
  for (const [at, generation] of before.entries()) {
    const shards = shardsOf(generation);
    const isDue = at >= options.keep && !options.isProtected(generation);
    if (isDue && shards !== undefined && isReplaced(shards, newerOwn, foreign)) dropped.push(generation.uuid);
    else kept.push(generation);
    for (const shard of shards?.keys() ?? []) newerOwn.add(shard);
  }
  return { kept, dropped };
}

const shardsOf = ({ shards }: Generation): CoveredShards | undefined =>
  shards === undefined ? undefined : coveredShards(shards);

function isReplaced(
  shards: CoveredShards,
  newerOwn: ReadonlySet<number>,
  foreign: readonly (CoveredShards | undefined)[],
): boolean {
  return [...shards].every(([shard, { epoch, high }]) => {
    if (newerOwn.has(shard)) return true;
    return foreign.some((file) => {
      const other = file?.get(shard);
      return other !== undefined && (other.epoch > epoch || (other.epoch === epoch && other.low >= high));
    });
  });
}
