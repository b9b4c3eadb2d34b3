/**
 * A lease that this process reports to its parent process. Once the parent has waited for the exit of this process, it
 * can end the lease (docs/copies.md, "Proof of death").
 */
import type { ReportedLease } from '../../../base/seams.ts';
import type { StoreContext } from '../../../cluster/context.ts';
import { type HeldLease, holdLease } from '../../../cluster/ownership.ts';

/** Reports the lease before the caller claims anything under it, and again if this process has ended it. */
export async function holdReportedLease(
  context: StoreContext,
  ttlMs: number,
  report: (reported: ReportedLease) => void = () => {},
): Promise<HeldLease> {
  const lease = await holdLease(context, ttlMs);
  const { leaseId } = lease;
  report({ leaseId, state: 'held', ttlMs });
  return {
    ...lease,
    async release() {
      const hasEnded = await lease.release();
      if (hasEnded) report({ leaseId, state: 'ended', ttlMs });
      return hasEnded;
    },
  };
}
