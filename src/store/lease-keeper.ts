/** Keeps one lease alive on any store, by the machine in `core/lease.ts`. */
import { unreachable } from '../base/assert.ts';
import { isPaddletError, type PaddletError } from '../base/errors.ts';
import type { Cancel, Clock } from '../base/seams.ts';
import { Lease, type LeaseEffect, type LeaseEvent } from '../core/lease.ts';
import type { Store } from './store.ts';

export interface KeepLeaseOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly leaseId: bigint;
  /** The TTL that `leaseGrant` answered. */
  readonly grantedTtlMs: number;
  /** `clock.monotonicMs()` from just *before* `leaseGrant` was called. */
  readonly sentAtMs: number;
  /** The deadline has passed: serve nothing, decide nothing. */
  readonly onSuspend: () => void;
  /** The store still had the lease: resume. */
  readonly onResume: () => void;
  /** A try to renew failed; it is repeated. */
  readonly onFailed?: (error: PaddletError) => void;
  /** Renewed: called each time. */
  readonly onRenewed?: () => void;
  /** The store says that the lease has ended (`LeaseGone`), or it is another store (`StoreReplaced`). Final. */
  readonly onLost: (error: PaddletError) => void;
}

export interface KeptLease {
  readonly leaseId: bigint;
  /** Until when the lease is certainly held, on `clock.monotonicMs()`. */
  deadlineMs(): number;
  /** Compares the deadline with the clock at the call: timers may be late. */
  isHeld(): boolean;
  /** Stops renewing, silently; the lease is left to run out or to be revoked. */
  stop(): void;
}

export function keepLease(options: KeepLeaseOptions): KeptLease {
  return new LeaseKeeper(options);
}

class LeaseKeeper implements KeptLease {
  readonly leaseId: bigint;
  readonly #options: KeepLeaseOptions;
  readonly #lease: Lease;
  #isStopped = false;
  #cancelTimer: Cancel = () => {};
  #lostBy: PaddletError | undefined;

  constructor(options: KeepLeaseOptions) {
    this.leaseId = options.leaseId;
    this.#options = options;
    this.#lease = new Lease({ grantedTtlMs: options.grantedTtlMs, sentAtMs: options.sentAtMs });
    this.#arm();
  }

  deadlineMs(): number {
    return this.#lease.deadlineMs;
  }

  isHeld(): boolean {
    return !this.#isStopped && this.#lease.isHeld(this.#options.clock.monotonicMs());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  #step(event: LeaseEvent): void {
    if (this.#isStopped) return;
    const effects = this.#lease.step(event, this.#options.clock.monotonicMs());
    this.#arm();
    for (const effect of effects) {
      if (this.#isStopped) return;
      this.#act(effect);
    }
  }

  #arm(): void {
    this.#cancelTimer();
    const at = this.#lease.nextDeadline();
    if (at === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.max(0, at - this.#options.clock.monotonicMs());
    this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#step({ type: 'tick' }));
  }

  #act(effect: LeaseEffect): void {
    switch (effect.type) {
      case 'renew':
        void this.#renew();
        return;
      case 'suspend':
        this.#options.onSuspend();
        return;
      case 'resume':
        this.#options.onResume();
        return;
      case 'lose':
        this.#options.onLost(this.#lostBy!);
        return;
      default:
        unreachable(effect);
    }
  }

  /** Anything unexpected is a bug; thrown out of here it ends the process. */
  async #renew(): Promise<void> {
    const { store, clock, leaseId } = this.#options;
    const sentAtMs = clock.monotonicMs();
    let event: LeaseEvent;
    try {
      const { grantedTtlMs } = await store.leaseKeepAlive(leaseId);
      event = { type: 'renewed', sentAtMs, grantedTtlMs };
      if (!this.#isStopped) this.#options.onRenewed?.();
    } catch (error) {
      // After `stop` the store may be closed under the call.
      if (this.#isStopped) return;
      if (isPaddletError(error, 'StoreUnavailable', 'StoreUnknownOutcome')) {
        event = { type: 'failed' };
        this.#options.onFailed?.(error);
      } else if (isPaddletError(error, 'LeaseGone', 'StoreReplaced', 'StoreInvalid')) {
        this.#lostBy = error;
        event = { type: 'gone' };
      } else throw error;
    }
    this.#step(event);
  }
}
