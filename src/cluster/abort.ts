/** Abort signals that come from time, and reactions to them. */
import type { Cancel, Clock } from '../base/seams.ts';

/** A signal that aborts after `delayMs`, unless cancelled before. */
export function abortAfter(clock: Clock, delayMs: number): { readonly signal: AbortSignal; readonly cancel: Cancel } {
  const late = new AbortController();
  return { signal: late.signal, cancel: clock.after(delayMs, () => late.abort()) };
}

/** Calls `react` once when the signal aborts, even if that was before this call, which no event would tell. */
export function onAbort(signal: AbortSignal, react: () => void): void {
  if (signal.aborted) react();
  else signal.addEventListener('abort', react, { once: true });
}
