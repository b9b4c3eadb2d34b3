/**
 * The key `/trainer/<id>` under a lease. A trainer whose lease is lost registers again with the same id, as the seed
 * says; the master sees it leave and join.
 */
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import { onAbort } from '../../cluster/abort.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { claimKey, type HeldLease, holdLease, retryStore } from '../../cluster/ownership.ts';
import { trainerEntryText } from '../../cluster/trainer-entry.ts';

export interface RegistrationOptions {
  readonly id: string;
  readonly address: string;
  readonly record: Pick<JobRecord, 'id'>;
  readonly ttlMs: number;
  /** The store can no longer be used. */
  readonly onFatal: (error: Error) => void;
}

/** Resolves when registered. The returned function removes the registration. */
export async function keepRegistered(context: RoleContext, options: RegistrationOptions): Promise<() => Promise<void>> {
  let hasLeft = false;
  let lease = await register(context, options);
  const registerAgain = async (lost: PaddletError): Promise<void> => {
    if (hasLeft) return;
    if (lost.code !== 'LeaseGone') {
      options.onFatal(lost);
      return;
    }
    context.host.log.warn(`the registration expired (${lost.message}); registering again`, {
      hint: 'raise cluster.leaseTtl if the machine is too busy, or a step takes longer than the lease',
    });
    try {
      lease = await register(context, options);
    } catch (error) {
      if (isPaddletError(error, 'Interrupted')) return;
      options.onFatal(error as Error);
      return;
    }
    if (hasLeft) await lease.release();
    else follow();
  };
  const follow = (): void => {
    const { lost } = lease;
    onAbort(lost, () => void registerAgain(lost.reason as PaddletError));
  };
  follow();
  return async () => {
    hasLeft = true;
    await lease.release();
  };
}

/** Takes another lease when one expires before it owns the key, as in a long outage of the store. */
async function register(context: RoleContext, options: RegistrationOptions): Promise<HeldLease> {
  for (;;) {
    const lease = await holdLease(context, options.ttlMs);
    try {
      await claim(context, options, lease);
      return lease;
    } catch (error) {
      await lease.release();
      if (!isPaddletError(error, 'LeaseGone')) throw error;
    }
  }
}

async function claim(context: RoleContext, options: RegistrationOptions, lease: HeldLease): Promise<void> {
  const key = context.keys.trainer(options.id);
  const { startedBy } = context;
  const value = trainerEntryText({ address: options.address, job: options.record.id, startedBy });
  for (;;) {
    const claimed = await claimKey(context, { key, value, lease });
    if (claimed.outcome === 'owned') return;
    // This trainer's former key, whose lease has not yet expired in the store: end that lease.
    const { leaseId } = claimed.by;
    await retryStore(context, () => context.store.leaseRevoke(leaseId));
  }
}
