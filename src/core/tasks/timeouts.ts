/** When attempts time out: after so much work on one task, waits left out. */
import { type Attempt, isWorking } from './attempt.ts';
import type { QueueConfig } from './events.ts';

export interface Timeouts {
  /** Notes how long a finished attempt worked: `auto` follows the longest. */
  finished(ranMs: number): void;
  isOver(attempt: Attempt): boolean;
  /** The attempt is due when it has worked so long, if it works. */
  watch(attempt: Attempt): void;
  /** Something else is due then. */
  dueAt(ms: number): void;
  /** Forgets all that is due. */
  clear(): void;
  /** No attempt times out before this; undefined while none can. */
  next(): number | undefined;
}

export function createTimeouts({ timeoutMs, timeoutFloorMs }: QueueConfig): Timeouts {
  let longestMs = 0;
  let earliestMs = Number.POSITIVE_INFINITY;
  const limitMs = (): number => (timeoutMs === 'auto' ? Math.max(timeoutFloorMs, 3 * longestMs) : timeoutMs);
  const dueAt = (ms: number): void => {
    earliestMs = Math.min(earliestMs, ms);
  };
  return {
    finished(ranMs) {
      longestMs = Math.max(longestMs, ranMs);
    },
    isOver: (attempt) => attempt.executing && attempt.ranMs >= limitMs(),
    watch(attempt) {
      if (isWorking(attempt)) dueAt(attempt.countedAt + limitMs() - attempt.ranMs);
    },
    dueAt,
    clear() {
      earliestMs = Number.POSITIVE_INFINITY;
    },
    next: () => (Number.isFinite(earliestMs) ? earliestMs : undefined),
  };
}
