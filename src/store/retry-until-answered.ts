/** Calls that wait for a store that does not answer. */

import { backoffMs, pause } from '../base/backoff.ts';
import { isPaddletError, PaddletError } from '../base/errors.ts';
import type { Clock, Log } from '../base/seams.ts';
import type { Store } from './store.ts';

/** How often a waiting process repeats that it waits. */
const REMIND_MS = 10_000;

export interface RetryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'url'>;
  readonly signal: AbortSignal;
  /** Gives up after so long, with what the store answered last. Without it waits for ever, as roles do. */
  readonly limitMs?: number;
}

/** A function to call after each failed attempt: it logs that the store is waited for, at once and then every 10 s. */
export function storeWaitLogger({ clock, log, store }: Omit<RetryOptions, 'signal'>): (error: PaddletError) => void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (clock.monotonicMs() - loggedAtMs <= REMIND_MS) return;
    loggedAtMs = clock.monotonicMs();
    // The message names the store too.
    log.warn(`waiting for the store ${store.url}: ${error.details.why ?? error.message}`);
  };
}

/**
 * Repeats a call until the store answers it, with a growing pause between attempts, and logs the wait. For reads, and
 * for writes that may happen twice: an attempt may have been carried out although its answer was lost (`settle` is for
 * those that may not). Repeats after `StoreUnavailable` and `StoreUnknownOutcome`; throws every other error of the
 * call, and `Interrupted` when aborted. With a limit, `StoreUnavailable` once it is reached.
 */
export async function retryUntilAnswered<T>(options: RetryOptions, call: () => Promise<T>): Promise<T> {
  const { clock, log, store, signal } = options;
  const logWait = storeWaitLogger(options);
  const limit = createLimit(options);
  try {
    for (let failures = 0; ; failures++) {
      try {
        const answer = await limit.within(call());
        if (failures > 0) log.info(`the store ${store.url} answers again`);
        return answer;
      } catch (error) {
        if (!isPaddletError(error, 'StoreUnavailable', 'StoreUnknownOutcome') || limit.isReached()) throw error;
        limit.failed(error);
        logWait(error);
      }
      await limit.within(pause(clock, backoffMs(failures), signal));
      if (signal.aborted) throw new PaddletError('Interrupted', `interrupted while waiting for the store ${store.url}`);
    }
  } finally {
    limit.cancel();
  }
}

interface Limit {
  /** Rejects when the limit is reached first. */
  within<T>(promise: Promise<T>): Promise<T>;
  isReached(): boolean;
  failed(error: PaddletError): void;
  cancel(): void;
}

function createLimit({ clock, store, limitMs }: RetryOptions): Limit {
  if (limitMs === undefined) {
    return { within: (promise) => promise, isReached: () => false, failed: () => {}, cancel: () => {} };
  }
  const reached = Promise.withResolvers<never>();
  reached.promise.catch(() => {});
  let isReached = false;
  let last: PaddletError | undefined;
  const cancel = clock.after(limitMs, () => {
    isReached = true;
    reached.reject(unanswered(store.url, limitMs, last));
  });
  return {
    within: (promise) => Promise.race([promise, reached.promise]),
    isReached: () => isReached,
    failed: (error) => {
      last = error;
    },
    cancel,
  };
}

export function unanswered(url: string, limitMs: number, last: PaddletError | undefined): PaddletError {
  const why = String(last?.details.why ?? last?.message ?? 'no answer (time-out)');
  const hint = last?.hint ?? 'check the address in --store or PADDLET_STORE, and that the store is running there';
  return new PaddletError('StoreUnavailable', `store ${url} did not answer within ${limitMs / 1000} s: ${why}`, {
    hint: `${hint} (or raise --timeout)`,
    details: { ...last?.details, why },
    cause: last,
  });
}
