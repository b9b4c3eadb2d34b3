/** Does what is due, again whenever that may have changed. */
import type { Clock } from '../../../base/seams.ts';
import { type Signal, untilOrLate } from '../../../cluster/waiting.ts';

/** Longer than a timer is set for, there is always a change. */
const NEVER_MS = 2 ** 31 - 1;

export interface PlanLoop {
  readonly clock: Clock;
  /** Notified when anything may have changed that the plan is made of. */
  readonly changed: Signal;
  /** Changes with each notification. */
  readonly version: () => number;
}

/** `beginDue` gives the time at which to look again even if nothing changes. Throws `Interrupted`, and like it. */
export async function runPlan(
  { clock, changed, version }: PlanLoop,
  beginDue: () => Promise<number | undefined>,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    const seen = version();
    const againAtMs = await beginDue();
    const maxWaitMs = againAtMs === undefined ? NEVER_MS : Math.max(1, againAtMs - clock.monotonicMs());
    await untilOrLate(changed, () => version() !== seen || undefined, { clock, maxWaitMs, signal });
  }
}
