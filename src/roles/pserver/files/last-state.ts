/** What an owner of units saved last. */
import { type Generation, generationsOf, parseEntry, shardsIn } from '../../../checkpoint/registry/entry.ts';
import { parseParting } from '../../../checkpoint/registry/partings.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { Head, Rest } from '../../../cluster/placement/heads.ts';

/** Where the last state of some units is to be looked for: the primary of their heads, and the file that these name. */
export type FormerState = Pick<Head, 'primary' | 'rest'>;

export interface LastState {
  /** Of which shards: of all that were asked for, or of some, when a file of the parting snapshot lacks the others. */
  readonly shards: readonly number[];
  /** Of which index the files are. */
  readonly index: number;
  /** The files, best first. */
  readonly generations: readonly Generation[];
  /** The first one has all that was ever applied to the units. */
  readonly exact: boolean;
  /** Why the published entry cannot be used. */
  readonly complaint: string | undefined;
  /** The file of the parting snapshot, when that is what the owner saved last. */
  readonly parting: Generation | undefined;
  /** Of the key of the parting snapshot: 0n when there is none. */
  readonly partedAt: bigint;
}

/**
 * Only heads decide what is exact: the file that they name in `rest`, or the parting snapshot of the primary that they
 * name, which it announced after it had lost its index. The primary may have lost it while it took some of the shards,
 * which then are not in the snapshot: it never served them, and what it would have found is their last state still.
 */
export async function lastState(
  context: RoleContext,
  { primary, rest }: FormerState,
  shards: readonly number[],
): Promise<LastState> {
  const { keys, store } = context;
  const partingKey = keys.parting(BigInt(primary.token));
  const announced = await retryStore(context, () => store.get(partingKey));
  const partedAt = announced?.modRevision ?? 0n;
  const files = announced === undefined ? [] : parseParting(partingKey, announced.value).files;
  const parting = files.find((file) => shardsIn(file, shards).length > 0);
  const index = parting === undefined ? (rest?.index ?? primary.index) : primary.index;
  const key = keys.checkpoint(index);
  const published = await retryStore(context, () => store.get(key));
  const { entry, complaint } = parseEntry(key, published);
  const before = entry === undefined ? [] : generationsOf(entry);
  // Newer than what the primary may have found in `rest` when it took the shards.
  if (parting !== undefined) {
    const parted = { shards: shardsIn(parting, shards), generations: [parting, ...before], exact: true, parting };
    return { ...parted, index, complaint, partedAt };
  }
  const { generations, exact } =
    rest === undefined ? { generations: before, exact: false } : restingFirst(before, rest);
  return { shards, index, complaint, generations, exact, parting: undefined, partedAt };
}

function restingFirst(published: readonly Generation[], { uuid }: Rest): Pick<LastState, 'generations' | 'exact'> {
  const named = published.filter((generation) => generation.uuid === uuid);
  const others = published.filter((generation) => generation.uuid !== uuid);
  return { generations: [...named, ...others], exact: named.length > 0 };
}
