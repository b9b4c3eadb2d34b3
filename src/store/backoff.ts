import type { Clock } from '../base/seams.ts';

const FIRST_MS = 50;
const LONGEST_MS = 1_000;

/** How long to wait before attempt `failures + 1`: doubles, up to a second, so that a recovery is noticed soon. */
export const backoffMs = (failures: number): number => Math.min(FIRST_MS * 2 ** Math.min(failures, 16), LONGEST_MS);

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
