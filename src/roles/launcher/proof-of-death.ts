/**
 * Proof of death (docs/copies.md). A parent that has waited for the exit of its child ends the very leases that the
 * child reported, so that what the child had is free at once and not after the lease time. Nothing else proves a death:
 * a closed pipe does not, and the index of the child may be another process's by the time that the store answers.
 */
import { isPaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Clock, Log, ReportedLease } from '../../base/seams.ts';
import { abortAfter } from '../../cluster/abort.ts';
import { orAborted } from '../../cluster/waiting.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';

export interface ProofOfDeathOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly url: string;
  /** Opened when the first child reports a lease, so that the store is available when that child dies. */
  readonly store: () => Promise<Pick<Store, 'leaseRevoke'>>;
}

/** One life of a child: what it tells, and its end. */
export interface ChildLife {
  told(lease: ReportedLease): void;
  /** To be called when its exit was waited for. */
  exited(): void;
}

export class ProofOfDeath {
  readonly #options: ProofOfDeathOptions;
  #store: ReturnType<ProofOfDeathOptions['store']> | undefined;
  /** Calls in progress, each with the TTL of its lease. */
  readonly #underway = new Map<Promise<void>, number>();
  readonly #givenUp = new AbortController();

  constructor(options: ProofOfDeathOptions) {
    this.#options = options;
  }

  /** To be called for each start of the child: its next life tells other leases. */
  watch(name: string): ChildLife {
    const held = new Map<bigint, ReportedLease>();
    let hasExited = false;
    const endAll = (): void => {
      if (!hasExited) return;
      for (const lease of held.values()) this.#end(name, lease);
      held.clear();
    };
    return {
      told: (lease) => {
        if (lease.state === 'ended') held.delete(lease.leaseId);
        else held.set(lease.leaseId, lease);
        // If the store cannot be opened, the error is reported when the store is needed.
        this.#open().catch(() => {});
        // The last words of a child may be read after its exit.
        endAll();
      },
      exited: () => {
        hasExited = true;
        endAll();
      },
    };
  }

  /**
   * Waits until the store has ended the leases of the dead, for their longest TTL or `limitMs`; then gives the others
   * up. To be called once, at the end.
   */
  async settle(signal: AbortSignal, limitMs = Math.max(0, ...this.#underway.values())): Promise<void> {
    const late = abortAfter(this.#options.clock, limitMs);
    try {
      if (this.#underway.size === 0) return;
      await orAborted(Promise.all(this.#underway.keys()), AbortSignal.any([signal, late.signal]));
    } catch (error) {
      if (!isPaddletError(error, 'Interrupted')) throw error;
      this.#options.log.warn('the store did not answer: the leases of exited processes will expire');
    } finally {
      late.cancel();
      this.#givenUp.abort();
    }
  }

  #end(name: string, { leaseId, ttlMs }: ReportedLease): void {
    if (this.#givenUp.signal.aborted) return;
    const ending = this.#revoke(name, leaseId);
    this.#underway.set(ending, ttlMs);
    void ending.then(() => this.#underway.delete(ending));
  }

  /** Only the answer of the store says that a lease has ended: one that restarts lets it run its whole time again. */
  async #revoke(name: string, leaseId: bigint): Promise<void> {
    const { clock, log, url } = this.#options;
    const { signal } = this.#givenUp;
    // The processes that need the store log that they wait for it.
    const quiet = { ...log, warn: log.debug, info: log.debug };
    try {
      await retryUntilAnswered({ clock, log: quiet, store: { url }, signal }, async () => {
        failPoint('child.revoking');
        const store = await this.#open();
        await store.leaseRevoke(leaseId);
      });
      log.info(`revoked the lease of ${name}, which has exited`);
    } catch (error) {
      // Given up: the store may be closed under the call.
      if (signal.aborted) return;
      if (!isPaddletError(error)) throw error;
      log.warn(`could not revoke the lease of ${name}, which has exited: ${error.message}`);
    }
  }

  #open(): ReturnType<ProofOfDeathOptions['store']> {
    this.#store ??= this.#options.store();
    return this.#store;
  }
}
