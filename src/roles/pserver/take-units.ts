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
import { type Head, type Owner, type Rest, sameOwner, takenBy } from '../../cluster/placement/heads.ts';
import { type ShowReplicas, showReplicas } from '../../cluster/placement/show-replicas.ts';
import { plannedUnits } from '../../core/placement.ts';
import type { KeyValue } from '../../store/store.ts';
import type { FormerState } from './files/last-state.ts';
import { readRestored } from './files/restored.ts';
import type { OwnedHead } from './owned-heads.ts';

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

/** Units whose last state is to be looked for in one place. */
export interface FormerUnits extends FormerState {
  readonly units: readonly number[];
}

/** Where the state of the units must be found before they can be taken; without those that `me` has taken already. */
export function formerUnits(heads: readonly PlannedHead[], me: Owner): FormerUnits[] {
  const owned = heads.filter(({ head }) => head !== undefined && !sameOwner(head.primary, me));
  const byState = Map.groupBy(owned, ({ head }) => JSON.stringify([head?.primary, head?.rest]));
  return [...byState.values()].map((alike) => {
    const { primary, rest } = alike[0]!.head!;
    return { primary, rest, units: alike.map(({ unit }) => unit) };
  });
}

/**
 * Makes this pserver the primary of every planned unit. `rests`: of units of which nothing is missing, the file that
 * was loaded. Throws `ParametersLost` when another pserver changed a head.
 */
export async function takeUnits(
  by: ShowReplicas,
  me: Owner,
  planned: readonly PlannedHead[],
  rests: ReadonlyMap<number, Rest>,
): Promise<OwnedHead[]> {
  const changes = planned.map(({ unit, modRevision, head }) => {
    return { unit, modRevision, head: takenBy(me, head, rests.get(unit)) };
  });
  const changed = await changeHeads(by, changes);
  const taken = changed.map(({ unit, head, modRevision }) => {
    if (head !== undefined && sameOwner(head.primary, me)) return { unit, head, modRevision };
    throw new PaddletError('ParametersLost', `unit ${unit} of the shards was taken by another pserver`, {
      hint: 'two pservers were started for one index; start the job again with --fresh',
    });
  });
  await showReplicas(by, taken);
  failPoint('pserver.shards-taken');
  return taken;
}
