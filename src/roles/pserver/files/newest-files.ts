/**
 * Finds the newest file for each shard of some units (docs/copies.md, "A starting pserver owns nothing"). Because units
 * move, it considers the files of all pservers and all parting snapshots.
 */
import { readEntries } from '../../../checkpoint/registry/discover.ts';
import { newestFirst, type PublishedFile, publishedFiles } from '../../../checkpoint/registry/newest.ts';
import { parsePartings, withPartings } from '../../../checkpoint/registry/partings.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { type FormerState, type LastState, lastState } from './last-state.ts';

export interface NewestFiles extends Pick<LastState, 'shards' | 'partedAt'> {
  /** Shard → its files, best first. */
  readonly filesOf: ReadonlyMap<number, readonly PublishedFile[]>;
  /** The file with all updates that were ever applied to the units, if any. It is the first file of every shard. */
  readonly exact: PublishedFile | undefined;
  /** Whether `exact` is a parting snapshot, of the primary or of another in-sync process. */
  readonly isParting: boolean;
  /** Index → names of all its files. */
  readonly namesOf: ReadonlyMap<number, readonly string[]>;
  /** Why entries of the store cannot be used. */
  readonly complaints: readonly string[];
}

/**
 * The answer may be outdated by the time a unit is taken. This is safe, because the units do not have a live primary.
 * So a newer file can come only from a pserver that takes the units first, or as a parting snapshot of an in-sync
 * process. The transaction that takes the units checks for both. `unusable`: names of files to ignore as last state.
 */
export async function findNewestFiles(
  context: RoleContext,
  former: FormerState,
  shards: readonly number[],
  unusable: ReadonlySet<string> = new Set(),
): Promise<NewestFiles> {
  const state = await lastState(context, former, shards, unusable);
  const { files, complaints } = await allFiles(context);
  const [first] = state.exact ? state.generations : [];
  const exact = first && (files.find(({ generation: { uuid } }) => uuid === first.uuid) ?? inFolder(state, first));
  const ranked = newestFirst(files, state.shards);
  return {
    shards: state.shards,
    partedAt: state.partedAt,
    filesOf: exact === undefined ? ranked : new Map([...ranked].map(([shard, of]) => [shard, withFirst(exact, of)])),
    exact,
    isParting: state.parting !== undefined,
    namesOf: namesByIndex(exact === undefined || files.includes(exact) ? files : [...files, exact]),
    complaints,
  };
}

const inFolder = ({ index }: LastState, generation: PublishedFile['generation']): PublishedFile => ({
  index,
  generation,
});

const withFirst = (first: PublishedFile, files: readonly PublishedFile[]): PublishedFile[] => [
  first,
  ...files.filter((file) => file !== first),
];

function namesByIndex(files: readonly PublishedFile[]): ReadonlyMap<number, readonly string[]> {
  const byIndex = Map.groupBy(files, ({ index }) => index);
  return new Map([...byIndex].map(([index, of]) => [index, of.map(({ generation: { uuid } }) => uuid)]));
}

async function allFiles({ store, keys, ...context }: RoleContext) {
  const read = (prefix: string) => retryStore({ ...context, store, keys }, () => store.range({ prefix }));
  const partings = parsePartings(keys.partingPrefix, (await read(keys.partingPrefix)).entries);
  const { published, complaints } = readEntries(keys.checkpointsPrefix, (await read(keys.checkpointsPrefix)).entries);
  return { files: withPartings(publishedFiles(published), partings), complaints };
}
