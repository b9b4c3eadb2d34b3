/** The live pservers of a job, for commands that send them requests. */
import { createPserverGroup, type PserverGroup } from '../../cluster/client/pserver-group.ts';
import { groupingOf } from '../../cluster/job/job-plan.ts';
import { followPlacement, type PlacementView } from '../../cluster/placement/placement-view.ts';
import { jobNetwork } from './job-network.ts';
import type { JobInStore } from './with-job.ts';

export interface LiveCluster {
  readonly view: PlacementView;
  readonly group: PserverGroup;
  readonly close: () => void;
}

/** `onFatal` is called when the store can no longer be followed. */
export function openLiveCluster(job: JobInStore, onFatal: (error: Error) => void): LiveCluster {
  const { host, store, keys, record } = job;
  const context = { host, store, keys, network: jobNetwork(host, store, keys) };
  const view = followPlacement(context, groupingOf(record), onFatal);
  const group = createPserverGroup(context, record, view);
  const close = (): void => {
    group.close();
    view.cancel();
  };
  return { view, group, close };
}
