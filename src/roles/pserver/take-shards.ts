/**
 * Takes the shards that the plan gives to this index. A starting pserver owns nothing, not even what its index held
 * before (DESIGN §7). A shard that never had an owner starts from its initial values. A shard that had an owner is
 * taken over with that owner's last state, by a transaction that finds the head unchanged and this pserver's token
 * alive.
 */
import { PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import { LIMITS } from '../../base/limits.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { type Head, type Owner, parseHead, type ReplicaRecord, sameOwner } from '../../cluster/placement/heads.ts';
import { plannedShards } from '../../core/placement.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { KeyValue } from '../../store/store.ts';
import { readRestored } from './files/restored.ts';
import type { OwnedHead } from './shards.ts';

export interface PlannedHead {
  readonly shard: number;
  /** 0n when the shard never had an owner. */
  readonly modRevision: bigint;
  readonly head: Head | undefined;
}

/** The current heads of the shards that are planned for this index, by ascending shard. */
export async function readPlannedHeads(
  context: RoleContext,
  plan: { index: number; pservers: number; shards: number },
): Promise<PlannedHead[]> {
  const { keys } = context;
  const range = await retryStore(context, () => context.store.range({ prefix: keys.headsPrefix }));
  const byKey = new Map<string, KeyValue>(range.entries.map((entry) => [entry.key, entry]));
  const restored = await readRestored(context);
  return plannedShards(plan.index, plan.pservers, plan.shards).map((shard) => {
    const entry = byKey.get(keys.head(shard));
    return {
      shard,
      modRevision: entry?.modRevision ?? 0n,
      head: restored.headOf(shard, entry),
    };
  });
}

/** Owners, other than `me`, whose state must be found before their shards can be taken. */
export function formerOwners(heads: readonly PlannedHead[], me: Owner): Owner[] {
  const owners = new Map<string, Owner>();
  for (const { head } of heads) {
    if (head !== undefined && !sameOwner(head.primary, me))
      owners.set(`${head.primary.index}/${head.primary.token}`, head.primary);
  }
  return [...owners.values()];
}

/** Makes this pserver the primary of every planned shard. `ParametersLost` when another pserver changed a head. */
export async function takeShards(
  context: RoleContext,
  fence: Fence,
  me: Owner,
  heads: readonly PlannedHead[],
): Promise<OwnedHead[]> {
  const taken: OwnedHead[] = [];
  let next = 0;
  const taker = async (): Promise<void> => {
    for (;;) {
      const planned = heads[next++];
      if (planned === undefined) return;
      taken.push(await takeShard(context, fence, me, planned));
      failPoint('pserver.shard-taken');
    }
  };
  await Promise.all(Array.from({ length: LIMITS.shardsTakenAtOnce }, taker));
  failPoint('pserver.shards-taken');
  return taken;
}

async function takeShard(context: RoleContext, fence: Fence, me: Owner, planned: PlannedHead): Promise<OwnedHead> {
  const { keys } = context;
  const { shard } = planned;
  const key = keys.head(shard);
  const epoch = (planned.head?.epoch ?? 0) + 1;
  const head: Head = { epoch, primary: me, inSync: [me] };
  const nowSeconds = context.host.clock.wallSeconds();
  const replica: ReplicaRecord = {
    id: 0,
    shardid: shard,
    created: nowSeconds,
    modified: nowSeconds,
    status: 'master',
    pserver: me.index,
    epoch,
  };
  return retryStore(context, async () => {
    const answer = await fencedTxn(context.store, fence, {
      if: [{ key, modRevision: planned.modRevision }],
      then: [
        { put: key, value: JSON.stringify(head) },
        { put: keys.replica(shard, 0), value: JSON.stringify(replica) },
      ],
      else: [{ get: key }],
    });
    if (answer.succeeded) return { shard, epoch, revision: answer.revision };
    // An earlier try whose outcome was unknown may have succeeded.
    const current = answer.results[0];
    if (current !== undefined && sameOwner(parseHead(key, current.value).primary, me)) {
      return { shard, epoch, revision: current.modRevision };
    }
    throw new PaddletError('ParametersLost', `shard ${shard} was taken by another pserver`, {
      hint: 'two pservers were started for one index; start the job again with --fresh',
    });
  });
}
