/**
 * Decides when another process's lease has run out, without a server and without trusting anybody's wall clock: an observer
 * must have watched the lease's renewal counter unchanged for one TTL of its own *uninterrupted* polling. A gap in the
 * polling (SIGSTOP, a suspended machine, a long stall) may have stopped the owner as well, so the count starts again:
 * stopping everything expires nothing. Pure.
 *
 * The owner's deadline is sooner: it counts from when it sent the renewal, the observer from when it had read it.
 */
export interface ObservedLease {
  readonly id: bigint;
  readonly ttlMs: number;
  readonly renewals: bigint;
}

interface Count extends ObservedLease {
  /** Since when it has been seen unchanged. */
  sinceMs: number;
}

/** A gap in the polling that is larger than this part of the TTL interrupts it. */
const LONGEST_GAP_OF_TTL = 1 / 4;

export class LeaseObserver {
  #counts = new Map<bigint, Count>();
  #lastMs: number | undefined;

  /**
   * One round of polling, on one monotonic clock: `beforeMs` and `afterMs` were read around the reading of `leases`
   * (all there are, or undefined when nothing has changed). Returns the leases to expire, each with the counter that the
   * expiring transaction must still find.
   */
  observe(beforeMs: number, afterMs: number, leases: readonly ObservedLease[] | undefined): ObservedLease[] {
    this.#restartAfterGap(afterMs);
    if (leases !== undefined) this.#take(leases, afterMs);
    return [...this.#counts.values()].filter((count) => beforeMs - count.sinceMs >= count.ttlMs);
  }

  #restartAfterGap(nowMs: number): void {
    const gapMs = this.#lastMs === undefined ? 0 : nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    for (const count of this.#counts.values()) {
      if (gapMs > count.ttlMs * LONGEST_GAP_OF_TTL) count.sinceMs = nowMs;
    }
  }

  #take(leases: readonly ObservedLease[], nowMs: number): void {
    const counts = new Map<bigint, Count>();
    for (const lease of leases) {
      const old = this.#counts.get(lease.id);
      counts.set(lease.id, old?.renewals === lease.renewals ? old : { ...lease, sinceMs: nowMs });
    }
    this.#counts = counts;
  }
}
