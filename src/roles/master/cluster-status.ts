/** Writes `/pserver_cluster_status` and marks `/pservers/<index>` of dead pservers (seeds/large-scale-design.zh.md). */
import type { Cancel } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { ClusterStatus } from '../../cluster/job/cluster-status.ts';
import { retryStore } from '../../cluster/ownership.ts';
import {
  type CopiesWanted,
  type LackingUnit,
  lackingCopies,
  lackingText,
} from '../../cluster/placement/lacking-copies.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import { parsePserverRecord } from '../../cluster/placement/pserver-record.ts';
import { unlessStopped } from '../../cluster/waiting.ts';
import { type Fence, type FencedTxn, fencedTxn } from '../../store/fence.ts';

export function statusOf(view: PlacementView, wanted: CopiesWanted): ClusterStatus {
  const nodes = view.liveIndexes();
  const missing = view.current() === undefined ? view.missing() : lackingText(lackingIn(view, wanted), wanted);
  if (missing === undefined) return { cluster_status: 'OK', reason: '', nodes };
  const reason = `waiting for ${missing}`;
  return { cluster_status: nodes.length === 0 ? 'UNKNOWN' : 'UNHEALTHY', reason, nodes };
}

/** Every unit with a live primary has one copy. */
const lackingIn = (view: PlacementView, wanted: CopiesWanted): LackingUnit[] =>
  wanted.replicas === 1 ? [] : lackingCopies(view.units(), wanted);

export interface KeepClusterStatus {
  readonly fence: Fence;
  readonly view: PlacementView;
  readonly wanted: CopiesWanted;
  readonly onFatal: (error: unknown) => void;
}

/** Follows the view until cancelled. */
export function keepClusterStatus(context: RoleContext, { fence, view, wanted, onFatal }: KeepClusterStatus): Cancel {
  const stop = new AbortController();
  let written = '';
  const loop = async (): Promise<void> => {
    // A view that has not heard from the store yet sees no pserver either.
    await view.changed.until(() => view.isLoaded() || undefined, stop.signal);
    for (;;) {
      const seen = view.version();
      const status = statusOf(view, wanted);
      const value = JSON.stringify(status);
      if (value !== written) await write(context, fence, value, stop.signal);
      written = value;
      for (const index of await recorded(context, stop.signal)) {
        if (!status.nodes.includes(index)) await markGone(context, fence, index, stop.signal);
      }
      await view.changed.until(() => view.version() !== seen || undefined, stop.signal);
    }
  };
  loop().catch(unlessStopped(stop.signal, onFatal));
  return () => stop.abort();
}

/** Indexes of pservers that have said something of themselves. */
async function recorded(context: RoleContext, signal: AbortSignal): Promise<number[]> {
  const { store, keys } = context;
  const { entries } = await retryStore(context, () => store.range({ prefix: keys.pserversPrefix }), signal);
  return entries.map(({ key }) => Number(key.slice(keys.pserversPrefix.length)));
}

/**
 * Writes `status: down` for a pserver that was up and has lost its index. The view is behind the store: what a pserver
 * says that has claimed the index since is not written over, so the transaction compares the claim and the record
 * itself.
 */
async function markGone(context: RoleContext, fence: Fence, index: number, stopSignal: AbortSignal): Promise<void> {
  const { keys, store } = context;
  const owner = keys.ps(index);
  const key = keys.pserver(index);
  for (;;) {
    const entry = await retryStore(context, () => store.get(key), stopSignal);
    if (entry === undefined) return;
    const record = parsePserverRecord(key, entry.value);
    if (record.status === 'down') return;
    const txn: FencedTxn = {
      if: [
        { key: owner, createRevision: 0n },
        { key, modRevision: entry.modRevision },
      ],
      then: [{ put: key, value: JSON.stringify({ ...record, status: 'down', sync: false, units: [] }) }],
      else: [{ get: owner }],
    };
    const { succeeded, results } = await retryStore(context, () => fencedTxn(store, fence, txn), stopSignal);
    // Claimed: the view will hear of it. Otherwise another came and went in that time.
    if (succeeded || results[0] !== undefined) return;
  }
}

async function write(context: RoleContext, fence: Fence, value: string, stopSignal: AbortSignal): Promise<void> {
  const then = [{ put: context.keys.clusterStatus, value }];
  await retryStore(context, () => fencedTxn(context.store, fence, { then }), stopSignal);
}
