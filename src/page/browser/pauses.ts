/** How long the page waits before it connects again. */
const FIRST_MS = 500;
const LONGEST_MS = 5_000;
/** A token that was refused is seldom accepted later. */
const REFUSED_MS = 10_000;

/** `failures`: connections that have ended since the last one that brought data. */
export function pauseMs(failures: number, wasRefused: boolean): number {
  return wasRefused ? REFUSED_MS : Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
}
