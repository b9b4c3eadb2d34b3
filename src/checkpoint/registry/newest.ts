/**
 * Which published file has the newest copy of a shard. Shards move between pservers, so all entries are looked at
 * together: the newest file of an index may lack what it had before, and a pserver that has gone may have published
 * what no other has published since.
 */
import { coveredShards } from '../file/coverage.ts';
import { type CheckpointEntry, type Generation, generationsOf, timelineOf } from './entry.ts';

/** A published file and the index it is of. */
export interface PublishedFile {
  readonly index: number;
  readonly generation: Generation;
  /** Files of the same entry that were published before it: a delta builds on some of them. */
  readonly earlier?: readonly Generation[];
}

/** The files of all entries; within an entry, the newest first. */
export const publishedFiles = (
  entries: readonly { readonly index: number; readonly entry: CheckpointEntry }[],
): PublishedFile[] =>
  entries.flatMap(({ index, entry }) =>
    generationsOf(entry).map((generation, at, all) => ({ index, generation, earlier: all.slice(at + 1) })),
  );

/** Epochs of the shards that the file has; undefined when nothing readable is published of it. */
function epochsIn({ shards }: Generation): ReadonlyMap<number, number> | undefined {
  const covered = shards && coveredShards(shards);
  return covered && new Map([...covered].map(([shard, { epoch }]) => [shard, epoch]));
}

/**
 * For each shard the files that may have it, best first: those of a higher epoch, and among those of one epoch as they
 * are given. An epoch has one primary, whose files are to be given newest first: their positions do not say it, as they
 * go back in sync mode, under a higher timeline. With copies, those that were in sync may have written what they had of
 * the epoch when they parted. They write when nothing is applied any longer, so a clean file has all of its epoch and
 * timeline, of whichever index it is. Files of which nothing readable is published come last.
 */
export function newestFirst<F extends PublishedFile>(
  files: readonly F[],
  shards: readonly number[],
): ReadonlyMap<number, readonly F[]> {
  const known = files.map((file) => ({ file, epochs: epochsIn(file.generation) }));
  const ranked = (shard: number): F[] =>
    known
      .flatMap(({ file, epochs }) => {
        const epoch = epochs === undefined ? -1 : epochs.get(shard);
        return epoch === undefined ? [] : [{ file, epoch, ...agesOf(file.generation) }];
      })
      .sort((a, b) => b.epoch - a.epoch || b.timeline - a.timeline || b.clean - a.clean)
      .map(({ file }) => file);
  return new Map(shards.map((shard) => [shard, ranked(shard)]));
}

const agesOf = (file: Generation) => ({ timeline: timelineOf(file), clean: Number(file.clean ?? false) });

/** Shards that any of the files is known to have, ascending. */
function knownShards(files: readonly PublishedFile[]): number[] {
  const known = new Set(files.flatMap(({ generation }) => [...(epochsIn(generation)?.keys() ?? [])]));
  return [...known].sort((a, b) => a - b);
}

/**
 * Sync mode: the newest round of which there is a file of every shard that was ever saved. Files of one round belong
 * together whatever their timeline, as a round has the same bits in each. Undefined in async mode, or when there is no
 * such round.
 */
export function wholeRound(files: readonly PublishedFile[]): number | undefined {
  const all = knownShards(files);
  const byRound = Map.groupBy(files, ({ generation }) => generation.round ?? -1);
  byRound.delete(-1);
  const isWhole = (ofRound: readonly PublishedFile[]): boolean =>
    ofRound.some(({ generation }) => generation.shards === undefined) || knownShards(ofRound).length === all.length;
  const rounds = [...byRound].filter(([, ofRound]) => isWhole(ofRound)).map(([round]) => round);
  return rounds.length === 0 ? undefined : Math.max(...rounds);
}

/** Those of the newest whole round, if there is one; otherwise all. */
export function ofWholeRound(files: readonly PublishedFile[]): readonly PublishedFile[] {
  const round = wholeRound(files);
  return round === undefined ? files : files.filter(({ generation }) => generation.round === round);
}

/**
 * The files that together are the newest model: those with the newest copy of some shard. In sync mode of one round.
 * In the order in which they are given.
 */
export function newestFiles(files: readonly PublishedFile[]): PublishedFile[] {
  const candidates = ofWholeRound(files);
  const chosen = new Set<PublishedFile>();
  for (const [first] of newestFirst(candidates, knownShards(candidates)).values()) if (first) chosen.add(first);
  // Nothing is known of what the newest file of an index has.
  for (const ofIndex of Map.groupBy(candidates, ({ index }) => index).values()) {
    const [newest] = ofIndex;
    if (newest !== undefined && epochsIn(newest.generation) === undefined) chosen.add(newest);
  }
  return candidates.filter((file) => chosen.has(file));
}
