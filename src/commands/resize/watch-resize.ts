/** Waits until a job has the numbers that were asked for, and tells how far it is. */
import type { Clock } from '../../base/seams.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { waitUntilKeys } from '../base/job-wait.ts';
import type { SizesAsked } from '../base/size-bounds.ts';
import { type ResizedJob, type ResizeState, resizeState, stateKeys } from './resize-state.ts';

export interface WatchResizeOptions {
  readonly clock: Clock;
  readonly store: Store;
  readonly keys: Keys;
  readonly job: ResizedJob;
  readonly asked: SizesAsked;
  readonly signal: AbortSignal;
  /** `moved` of `total` units: those that were to move at some time. */
  readonly onState: (state: ResizeState, progress: { readonly moved: number; readonly total: number }) => void;
  /** Called once, when processes that should start or end by then have not. */
  readonly onLate: (state: ResizeState) => void;
}

/** `paddlet run` starts a process in less time. */
const LATE_MS = 3_000;

/** Returns the last state; throws the signal's reason when it aborts first. */
export async function watchResize(options: WatchResizeOptions): Promise<ResizeState> {
  const { clock, keys, job, asked, onState } = options;
  let last: ResizeState | undefined;
  let total = 0;
  let isLate = false;
  let isTold = false;
  /** Once both the time is over and the state is known: a slow store may say it later. */
  const tellLate = (): void => {
    if (!isLate || isTold || last === undefined) return;
    isTold = true;
    options.onLate(last);
  };
  const cancelLate = clock.after(LATE_MS, () => {
    isLate = true;
    tellLate();
  });
  try {
    await waitUntilKeys({ ...options, prefixes: stateKeys(keys) }, (entries) => {
      last = resizeState(keys, job, asked, entries);
      total = Math.max(total, last.spread.toMove);
      onState(last, { moved: total - last.spread.toMove, total });
      tellLate();
      return last.over !== undefined || last.waitingFor.length === 0;
    });
  } finally {
    cancelLate();
  }
  return last!;
}
