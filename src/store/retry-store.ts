/** Waiting for a store that does not answer. */

import { backoffMs, pause } from '../base/backoff.ts';
import { isPaddletError, PaddletError } from '../base/errors.ts';
import type { Clock, Log } from '../base/seams.ts';
import type { Store } from './store.ts';

const REMIND_MS = 10_000;

export interface RetryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'url'>;
  readonly signal: AbortSignal;
}

/** Says that the store is waited for: at once, then now and again. */
export function sayWaiting({ clock, log, store }: Omit<RetryOptions, 'signal'>): (error: PaddletError) => void {
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (clock.monotonicMs() - saidAtMs <= REMIND_MS) return;
    saidAtMs = clock.monotonicMs();
    log.warn(`waiting for the store ${store.url}: ${error.message}`);
  };
}

/**
 * Repeats an idempotent call while the store is away (`StoreUnavailable`, `StoreUnknownOutcome`), saying so once and then
 * now and again. Throws `Interrupted` when aborted, and whatever else the call throws.
 */
export async function retryWhileAway<T>(options: RetryOptions, call: () => Promise<T>): Promise<T> {
  const { clock, log, store, signal } = options;
  const waiting = sayWaiting(options);
  for (let failures = 0; ; failures++) {
    try {
      const answer = await call();
      if (failures > 0) log.info(`the store ${store.url} answers again`);
      return answer;
    } catch (error) {
      if (!isPaddletError(error, 'StoreUnavailable', 'StoreUnknownOutcome')) throw error;
      waiting(error);
    }
    await pause(clock, backoffMs(failures), signal);
    if (signal.aborted) throw new PaddletError('Interrupted', 'interrupted');
  }
}
