/**
 * Takes units that have no live primary. A starting pserver owns nothing, not even what its index held before
 * (docs/copies.md). A unit that never had an owner starts from its initial values. A unit that had an owner is taken
 * over with that owner's last state, by a transaction that finds the head unchanged, this pserver's token alive, that
 * of the owner and of each process with a copy gone, and no parting snapshot of any of them that came since.
 */
import { failPoint } from '../../../base/fail-points.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { changeHeads } from '../../../cluster/placement/change-heads.ts';
import { countedOn, type Head, type Owner, type Rest, sameOwner, takenBy } from '../../../cluster/placement/heads.ts';
import { type ShowReplicas, showReplicas } from '../../../cluster/placement/show-replicas.ts';
import type { Compare } from '../../../store/store.ts';
import type { FormerState } from '../files/last-state.ts';
import type { OwnedHead } from '../held/owned-heads.ts';

export interface OrphanHead {
  readonly unit: number;
  /** 0n when the unit never had an owner. */
  readonly modRevision: bigint;
  readonly head: Head | undefined;
}

/** Of units that have copies. */
export interface TakerCopies {
  /** What is here of a unit is of no use: no process leads it with its copy. */
  free(unit: number): void;
  /** The unit is led here, alone. */
  taken(owned: OwnedHead): void;
}

/** Units whose last state is to be looked for in one place. */
export interface FormerUnits extends FormerState {
  readonly units: readonly number[];
}

/** Where the state of the units must be found before they can be taken. */
export function formerUnits(orphans: readonly OrphanHead[]): FormerUnits[] {
  const owned = orphans.filter(({ head }) => head !== undefined);
  const byState = Map.groupBy(owned, ({ head }) => stateKey(head!));
  return [...byState.values()].map((alike) => {
    const { primary, inSync, rest } = alike[0]!.head!;
    return { primary, inSync, rest, units: alike.map(({ unit }) => unit) };
  });
}

/** Equal for units whose last state is in one place. */
export const stateKey = ({ primary, inSync, rest }: Head): string => JSON.stringify([primary, inSync, rest]);

/**
 * Those that have no live primary in the store, under the heads that were seen. The view follows heads and claims one
 * by one: it may show that a pserver has gone before it shows to whom that one has handed its units over, and who leads
 * a unit before it shows that this one has come. Once an owner is known to be gone, only who takes the unit changes its
 * head.
 */
export async function unchanged<T extends OrphanHead>(
  context: Pick<RoleContext, 'host' | 'store' | 'keys' | 'stop'>,
  orphans: readonly T[],
  signal?: AbortSignal,
): Promise<T[]> {
  const { keys, store } = context;
  const range = async (prefix: string) => (await retryStore(context, () => store.range({ prefix }), signal)).entries;
  // Claims first: an owner that has one may hand the unit over before the heads are read.
  const claims = new Map((await range(keys.psPrefix)).map(({ key, createRevision }) => [key, createRevision]));
  const revisions = new Map((await range(keys.headsPrefix)).map(({ key, modRevision }) => [key, modRevision]));
  const isLive = ({ index, token }: Owner): boolean => claims.get(keys.ps(index))?.toString() === token;
  return orphans.filter(({ unit, modRevision, head }) => {
    const isSame = (revisions.get(keys.head(unit)) ?? 0n) === modRevision;
    return isSame && !(head !== undefined && countedOn(head).some(isLive));
  });
}

export interface TakeUnits extends ShowReplicas {
  readonly me: Owner;
  /** Of units of which nothing is missing, the file that was loaded. */
  readonly rests: ReadonlyMap<number, Rest>;
  /** Of the parting snapshots that were looked for, by the token that was lost: 0n where there was none. */
  readonly partings: ReadonlyMap<string, bigint>;
  /** Ends waiting for the store: then the outcome is unknown. Default: when the process is asked to stop. */
  readonly signal?: AbortSignal;
}

/** Makes this pserver the primary of these units; of those that another has taken, or may save still, it does not. */
export async function takeUnits(by: TakeUnits, orphans: readonly OrphanHead[]): Promise<OwnedHead[]> {
  const taken: OwnedHead[] = [];
  const byOwners = Map.groupBy(orphans, ({ head }) => head && JSON.stringify(countedOn(head)));
  for (const alike of byOwners.values()) {
    const also = whatShowsItGone(by, alike[0]!.head);
    const changes = alike.map(({ unit, modRevision, head }) => {
      return { unit, modRevision, head: takenBy(by.me, head, by.rests.get(unit)) };
    });
    for (const { unit, head, modRevision } of await changeHeads({ ...by, also }, changes)) {
      if (head !== undefined && sameOwner(head.primary, by.me)) taken.push({ unit, head, modRevision });
    }
  }
  await showReplicas(by, taken);
  failPoint('pserver.shards-taken');
  return taken;
}

/**
 * Each process that may lead has lost its index, even if another one has that now; and none has parted with anything
 * that was not looked at. A token is never given again.
 */
function whatShowsItGone({ context: { keys }, partings }: TakeUnits, head: Head | undefined): Compare[] {
  return (head === undefined ? [] : countedOn(head)).flatMap(({ index, token }): Compare[] => {
    const gone = { key: keys.ps(index), notCreateRevision: BigInt(token) };
    const modRevision = partings.get(token);
    return modRevision === undefined ? [gone] : [gone, { key: keys.parting(BigInt(token)), modRevision }];
  });
}
