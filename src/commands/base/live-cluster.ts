/** The live pservers of a job, for commands that ask them something. */
import type { Host } from '../../base/seams.ts';
import { createPserverGroup, type PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { followPlacement, type PlacementView } from '../../cluster/placement/placement-view.ts';
import { createWebSocketNetwork } from '../../protocol/websocket/network.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';

export interface LiveCluster {
  readonly view: PlacementView;
  readonly group: PserverGroup;
  readonly close: () => void;
}

export interface JobInStore {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
  readonly record: JobRecord;
}

/** `crash` is told when the store cannot be followed any more. */
export function openLiveCluster({ host, store, keys, record }: JobInStore, crash: (error: Error) => void): LiveCluster {
  const context = { host, store, keys, network: createWebSocketNetwork(host) };
  const view = followPlacement(context, record.job.cluster, crash);
  const group = createPserverGroup(context, record, view);
  const close = (): void => {
    group.close();
    view.cancel();
  };
  return { view, group, close };
}
