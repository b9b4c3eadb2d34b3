/** The seed's `/pshards/<shard>/<replica>`: shows for each shard who holds it. Nothing decides by it. */
import { LIMITS } from '../../base/limits.ts';
import { type Grouping, shardsOfUnit } from '../../core/units/units.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import type { Head } from './heads.ts';

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
}

/** To be called after the heads were changed. Throws `LeaseGone` when the claim is another's by now. */
export async function showReplicas(
  { context, fence, grouping }: ShowReplicas,
  changed: readonly { readonly unit: number; readonly head: Head }[],
): Promise<void> {
  const { store, keys, host } = context;
  const nowSeconds = host.clock.wallSeconds();
  const puts = changed.flatMap(({ unit, head }) =>
    shardsOfUnit(unit, grouping).map((shard) => {
      const replica: ReplicaRecord = {
        ...{ id: 0, shardid: shard, created: nowSeconds, modified: nowSeconds },
        ...{ status: 'master', pserver: head.primary.index, epoch: head.epoch },
      };
      return { put: keys.replica(shard, 0), value: JSON.stringify(replica) };
    }),
  );
  for (let from = 0; from < puts.length; from += LIMITS.storeTxnOps) {
    const then = puts.slice(from, from + LIMITS.storeTxnOps);
    await retryStore(context, () => fencedTxn(store, fence, { then }));
  }
}
