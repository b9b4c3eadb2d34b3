/**
 * Notices half-open connections: a ping every interval; a peer from which no byte at all came for `missedPings`
 * intervals is taken for dead. Intervals are counted, not time, so that a process that was itself stopped for a while
 * (SIGSTOP, a long computation) reads what waited for it before it judges its peers.
 */
import type { Cancel, Clock } from '../base/seams.ts';
import type { Link } from './link.ts';

export interface LivenessOptions {
  readonly pingIntervalMs: number;
  readonly missedPings: number;
}

/** Watches until cancelled; calls `dead` at most once. */
export function watchLiveness(link: Link, clock: Clock, options: LivenessOptions, dead: () => void): Cancel {
  let seenBytes = link.bytesRead;
  let silent = 0;
  let cancel: Cancel = () => {};
  const tick = (): void => {
    if (link.bytesRead !== seenBytes) silent = 0;
    else silent++;
    seenBytes = link.bytesRead;
    if (silent > options.missedPings) {
      dead();
      return;
    }
    link.ping();
    cancel = clock.after(options.pingIntervalMs, tick);
  };
  cancel = clock.after(options.pingIntervalMs, tick);
  return () => cancel();
}
