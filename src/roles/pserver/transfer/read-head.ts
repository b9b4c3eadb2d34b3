/** The head of a unit and the claim of its primary, at one revision of the store. */
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { parseHead } from '../../../cluster/placement/heads.ts';
import { recoveryIn } from '../../../cluster/placement/recovery.ts';
import type { OwnedHead } from '../held/owned-heads.ts';

export interface ReadHead {
  readonly owned: OwnedHead;
  readonly isPrimaryAlive: boolean;
  /**
   * The recovery number at that revision: at least the one that was raised for the unit, if its primary has loaded it
   * from an older file.
   */
  readonly recovery: number;
}

/** `index`: who leads the unit, as far as is known. Undefined when it has no head. Throws `Interrupted`. */
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
