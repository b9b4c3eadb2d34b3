/**
 * Takes units that have no live primary. A starting pserver owns no units, not even those that its index led before
 * (docs/copies.md). A unit that never had an owner starts from its initial values. A unit that had an owner is taken
 * with that owner's last state. The transaction that takes it requires that:
 * - The head is unchanged.
 * - This pserver still has its token.
 * - The owner and all other in-sync processes have lost their tokens.
 * - None of these processes has announced a parting snapshot since this pserver looked.
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
  /** Revision of the head; 0n if the unit never had an owner. */
  readonly modRevision: bigint;
  readonly head: Head | undefined;
}

/** Callbacks for jobs whose units have backup copies. */
export interface TakerCopies {
  /** Frees the local copy of a unit, because no process can lead the unit with its copy. */
  free(unit: number): void;
  /** This pserver leads the unit now, without backups. */
  taken(owned: OwnedHead): void;
}

/** Units whose last state is in the same place. */
export interface FormerUnits extends FormerState {
  readonly units: readonly number[];
}

/** Groups orphans that had an owner by the place of their last state, which must be found before they are taken. */
export function formerUnits(orphans: readonly OrphanHead[]): FormerUnits[] {
  const owned = orphans.filter(({ head }) => head !== undefined);
  const byState = Map.groupBy(owned, ({ head }) => stateKey(head!));
  return [...byState.values()].map((alike) => {
    const { primary, inSync, rest } = alike[0]!.head!;
    return { primary, inSync, rest, units: alike.map(({ unit }) => unit) };
  });
}

/** Equal for units whose last state is in the same place. */
export const stateKey = ({ primary, inSync, rest }: Head): string => JSON.stringify([primary, inSync, rest]);

/**
 * Returns the orphans whose heads in the store are unchanged and name no live in-sync process. The view follows heads
 * and claims separately, so it may be inconsistent:
 * - It may show that a pserver has lost its index before it shows that the pserver had handed over its units.
 * - It may show the new primary of a unit before it shows that primary's claim.
 * Once an owner has lost its index, only a pserver that takes the unit changes its head.
 */
export async function unchanged<T extends OrphanHead>(
  context: Pick<RoleContext, 'host' | 'store' | 'keys' | 'stop'>,
  orphans: readonly T[],
  signal?: AbortSignal,
): Promise<T[]> {
  const { keys, store } = context;
  const range = async (prefix: string) => (await retryStore(context, () => store.range({ prefix }), signal)).entries;
  // Read the claims first: an owner with a claim may hand the unit over before the heads are read.
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
  /** Unit → the loaded file, for units whose loaded state is complete. */
  readonly rests: ReadonlyMap<number, Rest>;
  /** Lost token → revision of the key of its parting snapshot; 0n if the key did not exist. */
  readonly partings: ReadonlyMap<string, bigint>;
  /** Ends the wait for the store; the outcome is then unknown. Default: aborts when the process is asked to stop. */
  readonly signal?: AbortSignal;
}

/** Makes this pserver the primary of these units, except units that another process has taken or may still save. */
export async function takeUnits(by: TakeUnits, orphans: readonly OrphanHead[]): Promise<OwnedHead[]> {
  const taken: OwnedHead[] = [];
  const byOwners = Map.groupBy(orphans, ({ head }) => head && JSON.stringify(countedOn(head)));
  for (const alike of byOwners.values()) {
    const also = proofOfLoss(by, alike[0]!.head);
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
 * Conditions of the transaction: each process that may lead the unit has lost its index, even if another process has
 * that index now, and none has announced a parting snapshot that the caller has not seen. A token is never reused.
 */
function proofOfLoss({ context: { keys }, partings }: TakeUnits, head: Head | undefined): Compare[] {
  return (head === undefined ? [] : countedOn(head)).flatMap(({ index, token }): Compare[] => {
    const gone = { key: keys.ps(index), notCreateRevision: BigInt(token) };
    const modRevision = partings.get(token);
    return modRevision === undefined ? [gone] : [gone, { key: keys.parting(BigInt(token)), modRevision }];
  });
}
