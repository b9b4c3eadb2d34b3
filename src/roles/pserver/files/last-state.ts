/** Finds the last state that the former owners of some units saved. */
import { coveredShards } from '../../../checkpoint/file/coverage.ts';
import { type Generation, generationsOf, parseEntry, shardsIn } from '../../../checkpoint/registry/entry.ts';
import type { PublishedFile } from '../../../checkpoint/registry/newest.ts';
import { parseParting } from '../../../checkpoint/registry/partings.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { countedOn, type Head, type Owner, type Rest } from '../../../cluster/placement/heads.ts';

/** Where to look for the last state of some units: the owners in their heads, and the file that these heads name. */
export type FormerState = Pick<Head, 'primary' | 'inSync' | 'rest'>;

export interface LastState {
  /** Shards that this state is for: all requested ones, or some, if the file of a parting snapshot lacks the others. */
  readonly shards: readonly number[];
  /** Index that the files belong to. */
  readonly index: number;
  /** The files, best first. */
  readonly generations: readonly Generation[];
  /** Whether the first file has all updates that were ever applied to the units. */
  readonly exact: boolean;
  /** Why the published entry cannot be used. */
  readonly complaint: string | undefined;
  /** The file of the parting snapshot, if the last state is one. */
  readonly parting: Generation | undefined;
  /** Lost token → revision of the key of its parting snapshot; 0n if the key does not exist. */
  readonly partedAt: ReadonlyMap<string, bigint>;
}

/**
 * Only heads decide which file is exact. It is the file that they name in `rest`, or a parting snapshot of the primary
 * or of another in-sync process, which that process announced after it had lost its index. A snapshot may lack shards:
 * its owner may have lost the index while it was taking them, or may not have had a copy. `unusable`: names of files to
 * ignore.
 */
export async function lastState(
  context: RoleContext,
  former: FormerState,
  shards: readonly number[],
  unusable: ReadonlySet<string> = new Set(),
): Promise<LastState> {
  const { keys, store } = context;
  const { primary, rest } = former;
  const parted = await Promise.all(countedOn(former).map((owner) => partedOf(context, owner)));
  const partedAt = new Map(parted.map(({ token, modRevision }) => [token, modRevision]));
  const last = mostOf(
    parted.flatMap(({ files }) => files).filter(({ generation: { uuid } }) => !unusable.has(uuid)),
    shards,
  );
  const index = last?.index ?? rest?.index ?? primary.index;
  const key = keys.checkpoint(index);
  const published = await retryStore(context, () => store.get(key));
  const { entry, complaint } = parseEntry(key, published);
  const before = entry === undefined ? [] : generationsOf(entry);
  // A parting snapshot is newer than a file in `rest`, which the primary may have loaded when it took the shards.
  if (last !== undefined) {
    const { generation: parting } = last;
    return {
      ...{ shards: last.shards, generations: [parting, ...before], exact: true, parting },
      ...{ index, complaint, partedAt },
    };
  }
  const { generations, exact } =
    rest === undefined ? { generations: before, exact: false } : restingFirst(before, rest);
  return { shards, index, complaint, generations, exact, parting: undefined, partedAt };
}

async function partedOf({ store, keys, ...context }: RoleContext, { index, token }: Owner) {
  const key = keys.parting(BigInt(token));
  const announced = await retryStore({ ...context, store, keys }, () => store.get(key));
  const generations = announced === undefined ? [] : parseParting(key, announced.value).files;
  const files = generations.map((generation): PublishedFile => ({ index, generation }));
  return { token, modRevision: announced?.modRevision ?? 0n, files };
}

/**
 * Chooses the file that is furthest ahead for the first shard, with all shards that it is the best file for. Each file
 * has all acknowledged updates of its shards, and some also have updates that not all copies had. Ties go to the
 * earlier file in the list.
 */
function mostOf(files: readonly PublishedFile[], shards: readonly number[]) {
  const best = new Map<number, { readonly file: PublishedFile; readonly epoch: number; readonly high: number }>();
  for (const file of files) {
    const { shards: coverage } = file.generation;
    const covered = coverage && coveredShards(coverage);
    for (const shard of shardsIn(file.generation, shards)) {
      const { epoch, high } = covered?.get(shard) ?? { epoch: -1, high: -1 };
      const known = best.get(shard);
      const isNewer = known === undefined || epoch > known.epoch || (epoch === known.epoch && high > known.high);
      if (isNewer) best.set(shard, { file, epoch, high });
    }
  }
  const [first] = best.values();
  if (first === undefined) return undefined;
  return { ...first.file, shards: shards.filter((shard) => best.get(shard)?.file === first.file) };
}

function restingFirst(published: readonly Generation[], { uuid }: Rest): Pick<LastState, 'generations' | 'exact'> {
  const named = published.filter((generation) => generation.uuid === uuid);
  const others = published.filter((generation) => generation.uuid !== uuid);
  return { generations: [...named, ...others], exact: named.length > 0 };
}
