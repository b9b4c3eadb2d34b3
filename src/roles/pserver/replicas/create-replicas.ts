/** Creates the copies of units of a pserver, and connects them with its cluster. */
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { OwnedHead } from '../held/owned-heads.ts';
import type { ShardServiceOptions } from '../shard-service.ts';
import type { MovesOptions } from '../transfer/moves.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import { CountedChanges } from './counted-changes.ts';
import { connectPeer } from './peer-connection.ts';
import type { ConnectPeer } from './peer-connections.ts';
import { peerProtocol } from './peer-protocol.ts';
import { PserverReplicas, type PserverReplicasOptions } from './pserver-replicas.ts';
import { ReplicaObserver } from './replica-observer.ts';
import { ShownHeads } from './shown-heads.ts';

type Own = 'owned' | 'withoutSaves' | 'rounds' | 'onLed' | 'onChanged' | 'onCopyEnded' | 'onRecovery';
type Service = 'context' | 'record' | 'index' | 'fence' | 'lease' | 'view' | 'spec' | 'metrics' | 'onFatal';

export type CreateReplicas = Pick<ShardServiceOptions, Service> & Pick<PserverReplicasOptions, Own>;

export function createReplicas(options: CreateReplicas): PserverReplicas {
  const { context, record, index, fence, onLed, onFatal } = options;
  const { minInSync, maxPservers, leaseTtlMs } = record.job.cluster;
  const { train, job } = record;
  const me = { index, token: fence.token.toString() };
  const fields = jobFields(record);
  const connect: ConnectPeer<SharedUpdate> = (link) =>
    connectPeer({
      ...{ context, silenceMs: leaseTtlMs, onFatal },
      protocol: peerProtocol(fields, { primary: me, member: { index: link.peer.index, token: link.peer.token } }),
      ...link,
    });
  const observer = observerOf(options);
  const led = (owned: OwnedHead): void => {
    onLed(owned);
    observer.led(owned.unit);
  };
  return new PserverReplicas({
    ...{ ...options, me, connect, minInSync, silenceMs: leaseTtlMs, mostPservers: maxPservers ?? job.cluster.pservers },
    job: { ...options.owned.parts, tasks: train.tasks, passes: job.training.passes },
    ...{ onLed: led, observer, times: options.metrics.times },
  });
}

function observerOf({ context, record, fence, lease, owned, metrics, onFatal }: CreateReplicas): ReplicaObserver {
  const { shards, replicas } = record.job.cluster;
  const { heads } = owned;
  const showing = { context, fence, grouping: { units: record.units, shards }, replicas };
  return new ReplicaObserver(
    new CountedChanges({ clock: context.host.clock, owned, metrics: metrics.copies }),
    new ShownHeads({ ...showing, heads, lost: lease.lost, onFatal }),
  );
}

/** Options for the moves, which make the copies. */
export const copiesOf = (
  replicas: PserverReplicas,
  wanted: number,
): Required<Pick<MovesOptions, 'backups' | 'duties'>> => ({
  backups: { maker: replicas.joins, keeper: replicas.keeper, attach: (copies) => replicas.attach(copies) },
  duties: { replicas: wanted, actions: replicas, hasMembers: () => replicas.hasMembers() },
});
