/**
 * The key `/trainer/<id>` under a lease. When the lease is lost the trainer registers again with the same id, as the
 * seed says; the master sees it leave and join.
 */
import type { PaddletError } from '../../base/errors.ts';
import { isPaddletError } from '../../base/errors.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { claimKey, type HeldLease, holdLease, retryStore } from '../../cluster/ownership.ts';

export interface RegistrationOptions {
  readonly id: string;
  readonly address: string;
  readonly ttlMs: number;
  /** The store cannot be used any more. */
  readonly onEnd: (error: Error) => void;
}

/** Resolves when registered; the function returned takes the registration back. */
export async function keepRegistered(context: RoleContext, options: RegistrationOptions): Promise<() => Promise<void>> {
  let left = false;
  let lease = await register(context, options);
  const again = async (lost: PaddletError): Promise<void> => {
    if (left) return;
    if (lost.code !== 'LeaseGone') {
      options.onEnd(lost);
      return;
    }
    context.host.log.warn(`the registration ran out (${lost.message}); registering again`);
    try {
      lease = await register(context, options);
    } catch (error) {
      if (isPaddletError(error, 'Interrupted')) return;
      options.onEnd(error as Error);
      return;
    }
    if (left) await lease.release();
    else follow();
  };
  const follow = (): void => {
    const { lost } = lease;
    const onLost = (): void => void again(lost.reason as PaddletError);
    // Lost before anybody listened: no event comes any more.
    if (lost.aborted) onLost();
    else lost.addEventListener('abort', onLost, { once: true });
  };
  follow();
  return async () => {
    left = true;
    await lease.release();
  };
}

/** Begins anew with another lease when one runs out before it owns the key, as in a long outage of the store. */
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
  for (;;) {
    const claimed = await claimKey(context, { key, value: options.address, lease });
    if (claimed.outcome === 'owned') return;
    // Our own former key, whose lease the store has not yet let go of: end that lease.
    const { leaseId } = claimed.by;
    await retryStore(context, () => context.store.leaseRevoke(leaseId));
  }
}
