/**
 * Which published files may go (docs/design.md §8): only what newer published files replace, shard by shard. A copy
 * that has only changes replaces others as a whole one does: the whole copy below it is of the same epoch, and stays as
 * long.
 */
import { type CoveredShards, coveredShards } from '../file/coverage.ts';
import { type Generation, timelineOf } from './entry.ts';

export interface RetentionOptions {
  /** Generations to keep beside the newest: those that are no delta count. */
  readonly keep: number;
  /**
   * Published files of the other pservers: a shard that moved away is in newer files of theirs. They may have been read
   * long before: one of them that has gone since has been replaced by a newer one.
   */
  readonly others: readonly Generation[];
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
  const later = new Map<number, number>();
  noteEpochs(later, newest);
  const kept: Generation[] = [];
  const dropped: string[] = [];
  // A file that stays holds those that it builds on, which were published before it.
  const held = new Set(newest.parents);
  let bases = isDelta(newest) ? 0 : 1;
  for (const generation of before) {
    const isDue = bases > options.keep && !held.has(generation.uuid) && !options.isProtected(generation);
    if (!isDelta(generation)) bases += 1;
    const left = isDue ? unreplacedShards(generation, options.others) : undefined;
    const isReplaced = left?.every(({ shard, epoch }) => (later.get(shard) ?? -1) >= epoch) === true;
    if (isReplaced) dropped.push(generation.uuid);
    else {
      kept.push(generation);
      for (const uuid of generation.parents ?? []) held.add(uuid);
    }
    noteEpochs(later, generation);
  }
  return { kept, dropped };
}

export const isDelta = ({ kind }: Generation): boolean => kind === 'delta';

/**
 * Among files of one index, the one published later is newer if the index led the shard in the same epoch: in sync mode
 * it may be at an earlier round, of a higher timeline. An adopted parting snapshot may be of an earlier epoch.
 */
function noteEpochs(later: Map<number, number>, generation: Generation): void {
  for (const [shard, { epoch }] of shardsOf(generation) ?? []) {
    later.set(shard, Math.max(epoch, later.get(shard) ?? -1));
  }
}

const shardsOf = ({ shards }: Generation): CoveredShards | undefined =>
  shards === undefined ? undefined : coveredShards(shards);

/**
 * Shards of a file that are in none of the others at a higher position. Undefined when it is not known which it has.
 * Equal positions do not count: of two files, each would count as replaced by the other.
 *
 * Within an epoch a position goes back when all go back to a cut: a file of a lower timeline replaces none of a higher
 * one. A copy of a higher epoch is of no lower timeline: units are handed over and taken under the timeline of both
 * sides only.
 */
export function unreplacedShards(
  file: Generation,
  others: readonly Generation[],
): { readonly shard: number; readonly epoch: number }[] | undefined {
  const foreign = others.map((other) => ({
    isEarlier: timelineOf(other) < timelineOf(file),
    covered: shardsOf(other),
  }));
  const shards = shardsOf(file);
  if (shards === undefined) return undefined;
  const isReplaced = (shard: number, { epoch, high }: { epoch: number; high: number }): boolean =>
    foreign.some(({ isEarlier, covered }) => {
      const other = covered?.get(shard);
      if (other === undefined) return false;
      if (other.epoch !== epoch) return other.epoch > epoch;
      return !isEarlier && other.low > high;
    });
  return [...shards].flatMap(([shard, position]) =>
    isReplaced(shard, position) ? [] : [{ shard, epoch: position.epoch }],
  );
}
