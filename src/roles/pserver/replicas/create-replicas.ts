/** The copies of units of a pserver, connected with its cluster. */
import { isPaddletError } from '../../../base/errors.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import { showReplicas } from '../../../cluster/placement/show-replicas.ts';
import { createIdRouter } from '../../../tensor/id-router.ts';
import type { OwnedHead } from '../owned-heads.ts';
import type { ShardServiceOptions } from '../shard-service.ts';
import type { MovesOptions } from '../units/moves.ts';
import { connectPeer } from './peer-connection.ts';
import type { ConnectPeer } from './peer-connections.ts';
import { peerProtocol } from './peer-protocol.ts';
import { PserverReplicas, type PserverReplicasOptions } from './pserver-replicas.ts';
import type { ReplicatedUpdate } from './replicated-update.ts';

type Own = 'owned' | 'withoutSaves' | 'rounds' | 'onLed' | 'onChanged' | 'onCopyEnded' | 'onRecovery';
type Service = 'context' | 'record' | 'index' | 'fence' | 'lease' | 'view' | 'spec' | 'onFatal';

export type CreateReplicas = Pick<ShardServiceOptions, Service> & Pick<PserverReplicasOptions, Own>;

export function createReplicas(options: CreateReplicas): PserverReplicas {
  const { context, record, index, fence, spec, onLed, onFatal } = options;
  const { shards, minInSync, maxPservers, leaseTtlMs } = record.job.cluster;
  const { units, train, job } = record;
  const me = { index, token: fence.token.toString() };
  const fields = jobFields(record);
  const connect: ConnectPeer<ReplicatedUpdate> = (link) =>
    connectPeer({
      ...{ context, silenceMs: leaseTtlMs, onFatal },
      protocol: peerProtocol(fields, { primary: me, member: { index: link.peer.index, token: link.peer.token } }),
      ...link,
    });
  const grouping = { units, shards };
  const led = (owned: OwnedHead): void => {
    onLed(owned);
    showReplicas({ context, fence, grouping }, [owned]).catch((error: unknown) => {
      if (!isPaddletError(error, 'Interrupted')) onFatal(error);
    });
  };
  const router = createIdRouter({ shards });
  return new PserverReplicas({
    ...{ ...options, me, connect, minInSync, silenceMs: leaseTtlMs, mostPservers: maxPservers ?? job.cluster.pservers },
    job: { spec, shards, units, router, tasks: train.tasks, passes: job.training.passes },
    onLed: led,
  });
}

/** For the moves, which make the copies. */
export const copiesOf = (
  replicas: PserverReplicas,
  wanted: number,
): Required<Pick<MovesOptions, 'backups' | 'duties'>> => ({
  backups: { maker: replicas.joins, keeper: replicas.keeper, attach: (copies) => replicas.attach(copies) },
  duties: { replicas: wanted, actions: replicas, hasMembers: () => replicas.hasMembers() },
});
