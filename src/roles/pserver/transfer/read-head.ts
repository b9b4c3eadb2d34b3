/** Reads the head of a unit and the claim of its primary at one revision of the store. */
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { parseHead } from '../../../cluster/placement/heads.ts';
import { recoveryIn } from '../../../cluster/placement/recovery.ts';
import type { OwnedHead } from '../held/owned-heads.ts';

export interface ReadHead {
  readonly owned: OwnedHead;
  readonly isPrimaryAlive: boolean;
  /**
   * The recovery number at that revision. If the primary has loaded the unit from an older file, this includes the
   * increase for that load.
   */
  readonly recovery: number;
}

/** `index`: the presumed primary of the unit. Returns undefined if the unit has no head. Throws `Interrupted`. */
export async function readHead(
  context: RoleContext,
  unit: number,
  index: number,
  signal: AbortSignal,
): Promise<ReadHead | undefined> {
  const { store, keys } = context;
  const then = [{ get: keys.head(unit) }, { get: keys.ps(index) }, { get: keys.recovery }];
  const { results } = await retryStore(context, () => store.txn({ if: [], then }), signal);
  const [entry, claim, recovery] = results;
  if (entry === undefined) return undefined;
  const head = parseHead(entry.key, entry.value);
  const { primary } = head;
  if (primary.index !== index) return readHead(context, unit, primary.index, signal);
  const isPrimaryAlive = claim?.createRevision.toString() === primary.token;
  const owned = { unit, head, modRevision: entry.modRevision };
  return { owned, isPrimaryAlive, recovery: recoveryIn(keys.recovery, recovery).number };
}
