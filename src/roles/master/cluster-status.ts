/** Writes `/pserver_cluster_status` and marks `/pservers/<index>` of pservers that are gone (seeds/large-scale-design.zh.md). */
import { isPaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { ClusterStatus } from '../../cluster/job/cluster-status.ts';
import { retryStore } from '../../cluster/ownership.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import { parsePserverRecord } from '../../cluster/placement/pserver-record.ts';
import { type Fence, type FencedTxn, fencedTxn } from '../../store/fence.ts';

export function statusOf(view: PlacementView): ClusterStatus {
  const nodes = view.liveIndexes();
  if (view.current() !== undefined) return { cluster_status: 'OK', reason: '', nodes };
  const reason = `waiting for ${view.missing()}`;
  return { cluster_status: nodes.length === 0 ? 'UNKNOWN' : 'UNHEALTHY', reason, nodes };
}

/** Follows the view until cancelled; `onEnd` hears why it cannot go on. */
export function keepClusterStatus(
  context: RoleContext,
  options: { fence: Fence; view: PlacementView; pservers: number; onEnd: (error: unknown) => void },
): Cancel {
  const { fence, view, pservers, onEnd } = options;
  const over = new AbortController();
  let written = '';
  const loop = async (): Promise<void> => {
    // A view that has not heard from the store yet sees no pserver either.
    await view.changed.until(() => view.isLoaded() || undefined, over.signal);
    for (;;) {
      const seen = view.version();
      const status = statusOf(view);
      const value = JSON.stringify(status);
      if (value !== written) await write(context, fence, value, over.signal);
      written = value;
      for (let index = 0; index < pservers; index++) {
        if (!status.nodes.includes(index)) await markGone(context, fence, index, over.signal);
      }
      await view.changed.until(() => view.version() !== seen || undefined, over.signal);
    }
  };
  loop().catch((error: unknown) => {
    if (!over.signal.aborted || !isPaddletError(error, 'Interrupted')) onEnd(error);
  });
  return () => over.abort();
}

/**
 * `status: down` for one that was up and is gone. The view is behind the store: what a pserver says that has claimed
 * the index since is not written over, so the transaction compares the claim and the record itself.
 */
async function markGone(context: RoleContext, fence: Fence, index: number, over: AbortSignal): Promise<void> {
  const { keys, store } = context;
  const owner = keys.ps(index);
  const key = keys.pserver(index);
  for (;;) {
    const entry = await retryStore(context, () => store.get(key), over);
    if (entry === undefined) return;
    const record = parsePserverRecord(key, entry.value);
    if (record.status === 'down') return;
    const txn: FencedTxn = {
      if: [
        { key: owner, createRevision: 0n },
        { key, modRevision: entry.modRevision },
      ],
      then: [{ put: key, value: JSON.stringify({ ...record, status: 'down', sync: false }) }],
      else: [{ get: owner }],
    };
    const { succeeded, results } = await retryStore(context, () => fencedTxn(store, fence, txn), over);
    // Claimed: the view will hear of it. Otherwise another came and went meanwhile.
    if (succeeded || results[0] !== undefined) return;
  }
}

async function write(context: RoleContext, fence: Fence, value: string, over: AbortSignal): Promise<void> {
  const then = [{ put: context.keys.clusterStatus, value }];
  await retryStore(context, () => fencedTxn(context.store, fence, { then }), over);
}
