/**
 * Takes the units that the plan gives to this index. A starting pserver owns nothing, not even what its index held
 * before (DESIGN §7). A unit that never had an owner starts from its initial values. A unit that had an owner is taken
 * over with that owner's last state, by a transaction that finds the head unchanged and this pserver's token alive.
 */
import { PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { changeHeads } from '../../cluster/placement/change-heads.ts';
import { type Head, type Owner, sameOwner, takenBy } from '../../cluster/placement/heads.ts';
import { type ShowReplicas, showReplicas } from '../../cluster/placement/show-replicas.ts';
import { plannedUnits } from '../../core/placement.ts';
import type { KeyValue } from '../../store/store.ts';
import { readRestored } from './files/restored.ts';
import type { OwnedHead } from './shards.ts';

export interface PlannedHead {
  readonly unit: number;
  /** 0n when the unit never had an owner. */
  readonly modRevision: bigint;
  readonly head: Head | undefined;
}

/** The current heads of the units that are planned for this index, by ascending unit. */
export async function readPlannedHeads(
  context: RoleContext,
  plan: { index: number; pservers: number; units: number },
): Promise<PlannedHead[]> {
  const { keys } = context;
  const range = await retryStore(context, () => context.store.range({ prefix: keys.headsPrefix }));
  const byKey = new Map<string, KeyValue>(range.entries.map((entry) => [entry.key, entry]));
  const restored = await readRestored(context);
  return plannedUnits(plan.index, plan.pservers, plan.units).map((unit) => {
    const entry = byKey.get(keys.head(unit));
    return { unit, modRevision: entry?.modRevision ?? 0n, head: restored.headOf(unit, entry) };
  });
}

/** Owners, other than `me`, whose state must be found before their units can be taken. */
export function formerOwners(heads: readonly PlannedHead[], me: Owner): Owner[] {
  const owners = new Map<string, Owner>();
  for (const { head } of heads) {
    if (head !== undefined && !sameOwner(head.primary, me))
      owners.set(`${head.primary.index}/${head.primary.token}`, head.primary);
  }
  return [...owners.values()];
}

/** Makes this pserver the primary of every planned unit. `ParametersLost` when another pserver changed a head. */
export async function takeUnits(by: ShowReplicas, me: Owner, planned: readonly PlannedHead[]): Promise<OwnedHead[]> {
  const changes = planned.map(({ unit, modRevision, head }) => ({ unit, modRevision, head: takenBy(me, head) }));
  const changed = await changeHeads(by, changes);
  const taken = changed.map(({ unit, head }) => {
    // An earlier try of this process may have succeeded under another revision.
    if (head !== undefined && sameOwner(head.primary, me)) return { unit, head };
    throw new PaddletError('ParametersLost', `unit ${unit} of the shards was taken by another pserver`, {
      hint: 'two pservers were started for one index; start the job again with --fresh',
    });
  });
  await showReplicas(by, taken);
  failPoint('pserver.shards-taken');
  return taken.map(({ unit, head: { epoch, led } }) => ({ unit, epoch, led }));
}
