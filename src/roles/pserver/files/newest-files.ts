/**
 * Where the newest copy of each shard of some units is (docs/copies.md, "A starting pserver owns nothing"). Units
 * move, so the files of all pservers are looked at, and the snapshots of all owners that have parted.
 */
import { readEntries } from '../../../checkpoint/registry/discover.ts';
import { newestFirst, type PublishedFile, publishedFiles } from '../../../checkpoint/registry/newest.ts';
import { parsePartings, withPartings } from '../../../checkpoint/registry/partings.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { type FormerState, type LastState, lastState } from './last-state.ts';

export interface NewestFiles extends Pick<LastState, 'shards' | 'partedAt'> {
  /** By shard, best first. */
  readonly filesOf: ReadonlyMap<number, readonly PublishedFile[]>;
  /** Has all that was ever applied to the units. It is the first one of every shard. */
  readonly exact: PublishedFile | undefined;
  /** `exact` is the parting snapshot of the primary, or of another process that was in sync. */
  readonly isParting: boolean;
  /** Names of all files by the index that they are of. */
  readonly namesOf: ReadonlyMap<number, readonly string[]>;
  /** Why entries cannot be used. */
  readonly complaints: readonly string[];
}

/**
 * What is read here may be old by the time a unit is taken. That is safe: the units have no live primary, so a newer
 * file can be published only by a pserver that takes them before, or as the parting snapshot of one that was in sync.
 * The transaction that takes them compares both. `unusable`: names of files that are not the last state.
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
