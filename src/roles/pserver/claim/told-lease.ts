/**
 * A lease that the parent of this process knows of, when it wants to: once it has waited for the exit of this process,
 * it ends that lease (docs/copies.md, "Proof of death").
 */
import type { ToldLease } from '../../../base/seams.ts';
import type { StoreContext } from '../../../cluster/context.ts';
import { type HeldLease, holdLease } from '../../../cluster/ownership.ts';

/** Tells of it before anything is claimed under it, and again when it has ended it by itself. */
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
