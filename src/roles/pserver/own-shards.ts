/**
 * Takes the shards that the plan gives to this index. A starting pserver owns nothing, also not what its index held
 * before (DESIGN §7): a shard nobody ever held starts from its initial values; one that had an owner is taken over only
 * with that owner's exact last state, by a transaction that finds the head unchanged and our own token alive.
 */
import { PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { type Head, type Owner, parseHead, type ReplicaRecord, sameOwner } from '../../cluster/placement/heads.ts';
import { type PlacementStamp, plannedShards, stampOf } from '../../core/placement.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { KeyValue } from '../../store/store.ts';
import { readRestored } from './files/restored.ts';

export interface PlannedHead {
  readonly shard: number;
  /** 0n when nobody ever held the shard. */
  readonly modRevision: bigint;
  readonly head: Head | undefined;
}

/** The heads of the shards planned for this index, as they stand. */
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

/** Transactions on the way at once: enough to share the store's syncs, few enough to leave it air. */
const TAKING_AT_ONCE = 64;

export interface TakenShards {
  readonly stamp: PlacementStamp;
  /** Shard → epoch of its head. */
  readonly epochs: ReadonlyMap<number, number>;
}

/** Makes this pserver the primary of every planned shard. `ParametersLost` when a head changed under it. */
export async function takeShards(
  context: RoleContext,
  fence: Fence,
  me: Owner,
  heads: readonly PlannedHead[],
): Promise<TakenShards> {
  const revisions: bigint[] = [];
  const epochs = new Map<number, number>();
  let next = 0;
  const taker = async (): Promise<void> => {
    for (;;) {
      const planned = heads[next++];
      if (planned === undefined) return;
      const taken = await takeShard(context, fence, me, planned);
      revisions.push(taken.revision);
      epochs.set(planned.shard, taken.epoch);
      failPoint('pserver.shard-taken');
    }
  };
  await Promise.all(Array.from({ length: TAKING_AT_ONCE }, taker));
  failPoint('pserver.shards-taken');
  return { stamp: stampOf(revisions), epochs };
}

async function takeShard(context: RoleContext, fence: Fence, me: Owner, planned: PlannedHead) {
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
    if (answer.succeeded) return { revision: answer.revision, epoch };
    // A try whose outcome was unknown may have landed.
    const now = answer.results[0];
    if (now !== undefined && sameOwner(parseHead(key, now.value).primary, me)) {
      return { revision: now.modRevision, epoch };
    }
    throw new PaddletError('ParametersLost', `shard ${shard} was taken by another pserver meanwhile`, {
      hint: 'two pservers were started for one index; start the job again with --fresh',
    });
  });
}
