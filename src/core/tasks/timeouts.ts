/**
 * When attempts end by themselves: after so much work on one task, waits left out; and, while another trainer wants a
 * task, when they have brought theirs no further for a multiple of that, whatever their trainer says that it does.
 */
import { type Attempt, isWorking } from './attempt.ts';
import type { QueueConfig } from './events.ts';

/** A trainer may wait for a pserver for long, and then starts over without harm: late enough that few do. */
const HELD_FACTOR = 4;

export interface Timeouts {
  /** Notes how long a finished attempt worked: `auto` follows the longest. */
  finished(ranMs: number): void;
  isOver(attempt: Attempt): boolean;
  /** When it is taken back because nothing comes of it, if another trainer wants a task. */
  idleAt(attempt: Attempt): number;
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
    idleAt: ({ movedAt }) => movedAt + HELD_FACTOR * limitMs(),
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
