/** The index that this pserver owns, and its record in the store. */
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { Listening } from '../../../cluster/listen.ts';
import { type HeldLease, retryStore } from '../../../cluster/ownership.ts';
import type { PlaceLabels, PserverRecord, UnitBytes } from '../../../cluster/placement/pserver-record.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';

export interface OwnedIndex {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly index: number;
  readonly fence: Fence;
  readonly listening: Listening;
  readonly lease: HeldLease;
  /** When this process started, in seconds since 1970. */
  readonly started: number;
  readonly labels: PlaceLabels;
}

/**
 * Writes `/pservers/<index>` in the format of the seed. A try that was given up may still succeed late, but it cannot
 * replace a newer value, because it compares the revision.
 */
export async function announce(
  owned: OwnedIndex,
  status: PserverRecord['status'],
  units: readonly UnitBytes[],
  signal = owned.context.stop,
): Promise<void> {
  const { context, index, fence } = owned;
  const value: PserverRecord = {
    id: index,
    instance: `${context.hostName} ${owned.listening.address}`,
    status,
    start_time: owned.started,
    sync: status === 'up',
    units: [...units],
    ...owned.labels,
  };
  const key = context.keys.pserver(index);
  const write = async (): Promise<boolean> => {
    const unchanged = { key, modRevision: lastSeen.get(fence) ?? 0n };
    const txn = { if: [unchanged], then: [{ put: key, value: JSON.stringify(value) }], else: [{ get: key }] };
    const { succeeded, revision, results } = await fencedTxn(context.store, fence, txn);
    lastSeen.set(fence, succeeded ? revision : (results[0]?.modRevision ?? 0n));
    return succeeded;
  };
  while (!(await retryStore(context, write, signal)));
}

/** Fence of a claim → revision of the record when this process last wrote or read it. */
const lastSeen = new WeakMap<Fence, bigint>();
