/** Waits between attempts. */
import type { Clock, Random } from './seams.ts';

export interface Backoff {
  readonly firstMs: number;
  readonly capMs: number;
}

/** Capped at a second, so that a recovery is noticed soon. */
const RETRY: Backoff = { firstMs: 50, capMs: 1_000 };

/** How long to wait before attempt `failures + 1`, in milliseconds: doubles from `firstMs`, up to `capMs`. */
export const backoffMs = (failures: number, { firstMs, capMs }: Backoff = RETRY): number =>
  Math.min(firstMs * 2 ** Math.min(failures, 30), capMs);

/** Shortens a wait by up to half at random, so that those that wait for the same peer do not come all at once. */
export const jittered = (ms: number, random: Random): number => ms * (1 - random.fraction() / 2);

/** Resolves when `ms` have passed or `signal` is aborted, whichever is first. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener('abort', done);
  });
}
