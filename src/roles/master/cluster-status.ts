/** Writes `/pserver_cluster_status` and marks `/pservers/<index>` of pservers that are gone (seeds/large-scale-design.zh.md). */
import { isPaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Op } from '../../store/store.ts';
import type { RoleContext } from '../context.ts';
import { patiently } from '../ownership.ts';
import type { PlacementView } from '../placement-view.ts';
import { parsePserverRecord } from '../pserver-record.ts';

export interface ClusterStatus {
  readonly cluster_status: 'OK' | 'UNHEALTHY' | 'UNKNOWN';
  readonly reason: string;
  /** Indexes of live pservers. */
  readonly nodes: readonly number[];
}

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
  const { fence, view, onEnd } = options;
  const over = new AbortController();
  let written = '';
  const loop = async (): Promise<void> => {
    for (;;) {
      const status = statusOf(view);
      const value = JSON.stringify(status);
      if (value !== written) {
        await write(context, fence, value, await goneRecords(context, status.nodes, options.pservers), over.signal);
        written = value;
      }
      await view.changed.until(() => (JSON.stringify(statusOf(view)) === written ? undefined : true), over.signal);
    }
  };
  loop().catch((error: unknown) => {
    if (!over.signal.aborted || !isPaddletError(error, 'Interrupted')) onEnd(error);
  });
  return () => over.abort();
}

/** `status: down` for those that were up and are gone. */
async function goneRecords(context: RoleContext, live: readonly number[], pservers: number): Promise<Op[]> {
  const { keys, store } = context;
  const ops: Op[] = [];
  for (let index = 0; index < pservers; index++) {
    if (live.includes(index)) continue;
    const key = keys.pserver(index);
    const entry = await patiently(context, () => store.get(key));
    if (entry === undefined) continue;
    const record = parsePserverRecord(key, entry.value);
    if (record.status !== 'down')
      ops.push({ put: key, value: JSON.stringify({ ...record, status: 'down', sync: false }) });
  }
  return ops;
}

async function write(
  context: RoleContext,
  fence: Fence,
  value: string,
  also: readonly Op[],
  over: AbortSignal,
): Promise<void> {
  const then = [{ put: context.keys.clusterStatus, value }, ...also];
  await patiently(context, () => fencedTxn(context.store, fence, { then }), over);
}
