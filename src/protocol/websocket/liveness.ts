/**
 * Notices half-open connections: a ping every interval; a peer from which no byte at all came for `missedPings`
 * intervals is considered dead. Intervals are counted, not time, so that a process that was itself stopped for a while
 * (SIGSTOP, a long computation) reads what waited for it before it judges its peers.
 */
import type { Cancel, Clock } from '../../base/seams.ts';
import type { LandingPool } from '../frames/landing-pool.ts';
import type { Link } from '../frames/link.ts';

export interface LivenessOptions {
  readonly pingIntervalMs: number;
  readonly missedPings: number;
}

/** Watches until cancelled; calls `dead` at most once. A connection that is watched uses the pool. */
export function watchLiveness(
  link: Link,
  { clock, timing, pool }: { readonly clock: Clock; readonly timing: LivenessOptions; readonly pool: LandingPool },
  dead: () => void,
): Cancel {
  const leavePool = pool.enter();
  let seenBytes = link.bytesRead;
  let silent = 0;
  let cancel: Cancel = () => {};
  const tick = (): void => {
    if (link.bytesRead !== seenBytes) silent = 0;
    else silent++;
    seenBytes = link.bytesRead;
    pool.tick(clock.monotonicMs());
    if (silent > timing.missedPings) {
      dead();
      return;
    }
    link.ping();
    cancel = clock.after(timing.pingIntervalMs, tick);
  };
  cancel = clock.after(timing.pingIntervalMs, tick);
  return () => {
    cancel();
    leavePool();
  };
}
