/** What the owners of units saved last. */
import { coveredShards } from '../../../checkpoint/file/coverage.ts';
import { type Generation, generationsOf, parseEntry, shardsIn } from '../../../checkpoint/registry/entry.ts';
import type { PublishedFile } from '../../../checkpoint/registry/newest.ts';
import { parseParting } from '../../../checkpoint/registry/partings.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { countedOn, type Head, type Owner, type Rest } from '../../../cluster/placement/heads.ts';

/** Where the last state of some units is to be looked for: the owners of their heads, and the file that these name. */
export type FormerState = Pick<Head, 'primary' | 'inSync' | 'rest'>;

export interface LastState {
  /** Of which shards: of all that were asked for, or of some, when a file of a parting snapshot lacks the others. */
  readonly shards: readonly number[];
  /** Of which index the files are. */
  readonly index: number;
  /** The files, best first. */
  readonly generations: readonly Generation[];
  /** The first one has all that was ever applied to the units. */
  readonly exact: boolean;
  /** Why the published entry cannot be used. */
  readonly complaint: string | undefined;
  /** The file of the parting snapshot, when that is what an owner saved last. */
  readonly parting: Generation | undefined;
  /** Of the keys of the parting snapshots, by the token that was lost: 0n where there is none. */
  readonly partedAt: ReadonlyMap<string, bigint>;
}

/**
 * Only heads decide what is exact: the file that they name in `rest`, or the parting snapshot of the primary or of
 * another process that they name as in sync, which that announced after it had lost its index. An owner may have lost
 * it while it took some of the shards, or without a copy of them: those are not in its snapshot. `unusable`: names of
 * files that do not count.
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
  // Newer than what the primary may have found in `rest` when it took the shards.
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
 * Each of the files has everything that was acknowledged of its shards. Some have more: what not all copies had. So the
 * one that is the furthest has the first shard, with the others of which it is; of equal ones the first that is given.
 */
function mostOf(files: readonly PublishedFile[], shards: readonly number[]) {
  const best = new Map<number, { readonly file: PublishedFile; readonly epoch: number; readonly high: number }>();
  for (const file of files) {
    const { shards: coverage } = file.generation;
    const covered = coverage && coveredShards(coverage);
    for (const shard of shardsIn(file.generation, shards)) {
      const { epoch, high } = covered?.get(shard) ?? { epoch: -1, high: -1 };
      const known = best.get(shard);
      const isFurther = known === undefined || epoch > known.epoch || (epoch === known.epoch && high > known.high);
      if (isFurther) best.set(shard, { file, epoch, high });
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
