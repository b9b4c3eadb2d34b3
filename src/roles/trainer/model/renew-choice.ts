/** Repeats a request at intervals, and at once on demand, never two at a time. */
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel, Clock } from '../../../base/seams.ts';

export interface Renewal {
  /** Renews now, unless a renewal is under way. */
  readonly now: () => void;
  readonly cancel: Cancel;
}

/** A renewal that fails with a PaddletError is repeated at the next interval; any other error goes to `onFatal`. */
export function renewChoice(
  clock: Clock,
  everyMs: number,
  renew: () => Promise<void>,
  onFatal: (error: Error) => void,
): Renewal {
  let isCancelled = false;
  let isRenewing = false;
  let cancelTimer: Cancel = () => {};
  const arm = (): void => {
    cancelTimer = clock.after(everyMs, now);
  };
  const run = async (): Promise<void> => {
    if (isRenewing) return;
    isRenewing = true;
    cancelTimer();
    try {
      await renew();
    } catch (error) {
      if (!isPaddletError(error)) throw error;
    }
    isRenewing = false;
    if (!isCancelled) arm();
  };
  const now = (): void => void run().catch(onFatal);
  arm();
  return {
    now,
    cancel: () => {
      isCancelled = true;
      cancelTimer();
    },
  };
}
