import type { Clock } from '../base/seams.ts';

/** Longest delay that a Node timer takes (a signed 32-bit count of milliseconds). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clocks. Timers that are set keep the process alive until they fire or are cancelled. */
export function createClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    wallSeconds: () => Date.now() / 1000,
    after: (delayMs, fire) => after(delayMs, fire),
    idleMs: () => performance.eventLoopUtilization().idle,
  };
}

/**
 * Node fires a timer up to a millisecond early by `performance.now()` (libuv counts whole milliseconds), and at once
 * when the delay is over 2^31 − 1. Both are evened out here, since callers compare deadlines with `monotonicMs()`.
 */
function after(delayMs: number, fire: () => void): () => void {
  const dueMs = performance.now() + delayMs;
  let timer: NodeJS.Timeout | undefined;
  const arm = (): void => {
    const leftMs = dueMs - performance.now();
    // Never inside the call of `after` itself, also with no delay.
    if (leftMs <= 0 && timer !== undefined) fire();
    else timer = setTimeout(arm, Math.min(Math.max(Math.ceil(leftMs), 0), LONGEST_TIMER_MS));
  };
  arm();
  return () => clearTimeout(timer);
}

/** `wallSeconds` as people read it: ISO 8601, in UTC. */
export const isoTime = (wallSeconds: number): string => new Date(wallSeconds * 1000).toISOString();
