/**
 * When the launcher resumes one of its processes that is suspended (SIGSTOP) and that the job waits for. Nothing is
 * lost: the process has lost its lease, so it serves nothing more, saves what it may, and ends. Then it is restarted.
 * Pure.
 */

/** The user who suspended the process has this long to resume it: in lease times, from the end of its lease. */
const PATIENCE_LEASES = 2;

export interface ResumePolicy {
  /**
   * What is left until each of these is to be resumed, in the same order; 0 once. `pids`: all that are suspended
   * without a lease now.
   */
  left(pids: readonly number[], nowMs: number): readonly number[];
}

export function createResumePolicy(leaseTtlMs: number): ResumePolicy {
  let sinceMs = new Map<number, number>();
  return {
    left(pids, nowMs) {
      sinceMs = new Map(pids.map((pid) => [pid, sinceMs.get(pid) ?? nowMs]));
      return pids.map((pid) => {
        const leftMs = Math.max(0, sinceMs.get(pid)! + PATIENCE_LEASES * leaseTtlMs - nowMs);
        // One that is suspended again gets as long.
        if (leftMs === 0) sinceMs.delete(pid);
        return leftMs;
      });
    },
  };
}
