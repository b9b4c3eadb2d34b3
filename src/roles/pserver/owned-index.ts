/** The index that this pserver owns, and its record in the store. */
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { Listening } from '../../cluster/listen.ts';
import { type HeldLease, retryStore } from '../../cluster/ownership.ts';
import type { PlaceLabels, PserverRecord, UnitBytes } from '../../cluster/placement/pserver-record.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';

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

/** Writes `/pservers/<index>`, as the seed has it. */
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
  const then = [{ put: context.keys.pserver(index), value: JSON.stringify(value) }];
  await retryStore(context, () => fencedTxn(context.store, fence, { then }), signal);
}
