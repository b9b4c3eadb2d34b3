/**
 * Decides when another process's lease has run out, without a server and without trusting any wall clock: an observer
 * must have watched the lease's renewal counter unchanged for one TTL of its own *uninterrupted* polling. A gap in the
 * polling (SIGSTOP, a suspended machine, a long stall) may have stopped the owner as well, so the count starts again:
 * stopping everything expires nothing. Pure.
 *
 * An owner that is locked out of the file, or whose disk is full, cannot renew either. So a write of the observer's own
 * must go through late in that TTL (`wantsProof`, `proven`), and the owner has a part of the TTL after it to write too.
 * A write that had to wait long starts the count again (`lockedOut`): a process that is stopped in the middle of a
 * write, holding the lock, ends no lease. So does a write that failed, or may have failed (`failed`): when there is
 * room on the disk again, every owner has a whole TTL.
 *
 * The owner's deadline is sooner: it counts from when it sent the renewal, the observer from when it read it.
 */
export interface ObservedLease {
  readonly id: bigint;
  readonly ttlMs: number;
  readonly renewals: bigint;
}

interface Count extends ObservedLease {
  /** Time since which the lease has been seen unchanged. */
  sinceMs: number;
  /** When a write had gone through, late in the count. */
  provenMs: number | undefined;
}

/** A gap in the polling that is larger than this part of the TTL interrupts it. */
const LONGEST_GAP_OF_TTL = 1 / 4;
/** The part of the TTL after which a write proves something. */
const PROOF_FROM_OF_TTL = 2 / 3;
/** The part of the TTL that the owner has for a write of its own, from when the observer's went through. */
const GRACE_OF_TTL = 1 / 4;

export class LeaseObserver {
  #counts = new Map<bigint, Count>();
  #lastMs: number | undefined;

  /**
   * One round of polling, on one monotonic clock: `beforeMs` and `afterMs` were read around the reading of `leases`
   * (all there are, or undefined when nothing has changed). Returns the leases to expire, each with the counter that
   * the expiring transaction must still find.
   */
  observe(beforeMs: number, afterMs: number, leases: readonly ObservedLease[] | undefined): ObservedLease[] {
    this.#restartAfterGap(afterMs);
    if (leases !== undefined) this.#take(leases, afterMs);
    return [...this.#counts.values()].filter((count) => isDue(count, beforeMs));
  }

  /** Whether the lease is still to be expired, asked with the lock held. */
  isDue({ id, renewals }: ObservedLease, nowMs: number): boolean {
    const count = this.#counts.get(id);
    return count !== undefined && count.renewals === renewals && isDue(count, nowMs);
  }

  /** True when a lease nears its end and it is unknown whether its owner could have written. */
  wantsProof(nowMs: number): boolean {
    return [...this.#counts.values()].some((count) => count.provenMs === undefined && isLate(count, nowMs));
  }

  /** A write that was asked for at `askedMs` has gone through at `doneMs`. It must have changed the file. */
  proven(askedMs: number, doneMs: number): void {
    for (const count of this.#counts.values()) if (isLate(count, askedMs)) count.provenMs ??= doneMs;
  }

  /** A write has failed, or its outcome is unknown: owners may have been unable to renew until now. */
  failed(nowMs: number): void {
    for (const count of this.#counts.values()) restart(count, nowMs);
  }

  /** Another process held the lock from `sinceMs` to `nowMs`: owners could not renew. */
  lockedOut(sinceMs: number, nowMs: number): void {
    for (const count of this.#counts.values()) {
      if (nowMs - sinceMs > count.ttlMs * LONGEST_GAP_OF_TTL) restart(count, nowMs);
    }
  }

  #restartAfterGap(nowMs: number): void {
    const gapMs = this.#lastMs === undefined ? 0 : nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    for (const count of this.#counts.values()) {
      if (gapMs > count.ttlMs * LONGEST_GAP_OF_TTL) restart(count, nowMs);
    }
  }

  #take(leases: readonly ObservedLease[], nowMs: number): void {
    const counts = new Map<bigint, Count>();
    for (const lease of leases) {
      const old = this.#counts.get(lease.id);
      counts.set(lease.id, old?.renewals === lease.renewals ? old : { ...lease, sinceMs: nowMs, provenMs: undefined });
    }
    this.#counts = counts;
  }
}

const isLate = ({ sinceMs, ttlMs }: Count, nowMs: number): boolean => nowMs - sinceMs >= ttlMs * PROOF_FROM_OF_TTL;

const isDue = ({ sinceMs, provenMs, ttlMs }: Count, nowMs: number): boolean =>
  provenMs !== undefined && nowMs - sinceMs >= ttlMs && nowMs - provenMs >= ttlMs * GRACE_OF_TTL;

function restart(count: Count, nowMs: number): void {
  count.sinceMs = nowMs;
  count.provenMs = undefined;
}
