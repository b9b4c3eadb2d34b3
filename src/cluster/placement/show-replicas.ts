/**
 * The seed's `/pshards/<shard>/<replica>`: shows for each shard who holds it, its primary as replica 0. Nothing decides
 * by it.
 */
import { LIMITS } from '../../base/limits.ts';
import { type Grouping, shardsOfUnit } from '../../core/units/units.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Op } from '../../store/store.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { type Head, sameOwner } from './heads.ts';

/** Times in seconds since 1970. */
export interface ReplicaRecord {
  readonly id: number;
  readonly shardid: number;
  readonly created: number;
  readonly modified: number;
  readonly status: 'master' | 'backup';
  readonly pserver: number;
  readonly epoch: number;
}

export interface ShowReplicas {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly grouping: Grouping;
  /** Copies that a unit may have; by default its primary alone is shown. */
  readonly replicas?: number;
}

/** To be called after the heads were changed. Throws `LeaseGone` when the claim is another's by now. */
export async function showReplicas(
  { context, fence, grouping, replicas = 1 }: ShowReplicas,
  changed: readonly { readonly unit: number; readonly head: Head }[],
): Promise<void> {
  const { store, keys, host } = context;
  const nowSeconds = host.clock.wallSeconds();
  const ops = changed.flatMap(({ unit, head }) => {
    const holders = holdersOf(head);
    return shardsOfUnit(unit, grouping).flatMap((shard) =>
      Array.from({ length: replicas }, (_, id): Op => {
        const pserver = holders[id];
        if (pserver === undefined) return { delete: keys.replica(shard, id) };
        const replica: ReplicaRecord = {
          ...{ id, shardid: shard, created: nowSeconds, modified: nowSeconds },
          ...{ status: id === 0 ? 'master' : 'backup', pserver, epoch: head.epoch },
        };
        return { put: keys.replica(shard, id), value: JSON.stringify(replica) };
      }),
    );
  });
  for (let from = 0; from < ops.length; from += LIMITS.storeTxnOps) {
    const then = ops.slice(from, from + LIMITS.storeTxnOps);
    await retryStore(context, () => fencedTxn(store, fence, { then }));
  }
}

/** The primary first. */
const holdersOf = ({ primary, inSync }: Head): number[] => [
  primary.index,
  ...inSync.filter((member) => !sameOwner(member, primary)).map(({ index }) => index),
];
