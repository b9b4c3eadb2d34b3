/**
 * A lease that this process reports to its parent process. Once the parent has waited for the exit of this process, it
 * can end the lease (docs/copies.md, "Proof of death").
 */
import type { ToldLease } from '../../../base/seams.ts';
import type { StoreContext } from '../../../cluster/context.ts';
import { type HeldLease, holdLease } from '../../../cluster/ownership.ts';

/** Reports the lease before the caller claims anything under it, and again if this process has ended it. */
export async function holdToldLease(
  context: StoreContext,
  ttlMs: number,
  tell: (told: ToldLease) => void = () => {},
): Promise<HeldLease> {
  const lease = await holdLease(context, ttlMs);
  const { leaseId } = lease;
  tell({ leaseId, state: 'held', ttlMs });
  return {
    ...lease,
    async release() {
      const hasEnded = await lease.release();
      if (hasEnded) tell({ leaseId, state: 'ended', ttlMs });
      return hasEnded;
    },
  };
}
