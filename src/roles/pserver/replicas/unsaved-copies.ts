/**
 * Waits before a process ends with the whole job, because a copy here may be all that is left of its unit. The store
 * counts on the copy while the primary has not saved the unit. The primary may be saving, or may be dead while its
 * lease still runs.
 */
import type { Clock, Log } from '../../../base/seams.ts';
import { isCountedOn } from '../../../cluster/placement/heads.ts';
import { logWaiting, type Signal, untilOrLate } from '../../../cluster/waiting.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHead } from '../held/owned-heads.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { UnitMachines } from './machines.ts';

export interface CopiesHere {
  readonly me: UnitOwner;
  readonly machines: Pick<UnitMachines<SharedUpdate>, 'units' | 'of'>;
  /** Notified after each turn. */
  readonly changed: Signal;
  headOf(unit: number): OwnedHead | undefined;
  isTakingOver(): boolean;
}

export interface Patience {
  readonly clock: Clock;
  readonly log: Log;
  /** Time limit, on the scale of `clock.monotonicMs`. */
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves when one of these is true:
 * - the primaries have saved all of their units;
 * - this process is about to lead one of the units;
 * - the time is over: a primary that has not died by then is alive, and has the unit.
 *
 * Throws `Interrupted`.
 */
export async function untilOthersSaved(copies: CopiesHere, by: Patience): Promise<void> {
  const { clock, log, untilMs, signal } = by;
  const what = (): string => `the primaries of units ${unsavedIn(copies).join(', ')} to save them, or to exit`;
  const cancel = logWaiting(clock, log, what);
  try {
    const maxWaitMs = Math.max(0, untilMs - clock.monotonicMs());
    const look = (): true | undefined => copies.isTakingOver() || unsavedIn(copies).length === 0 || undefined;
    await untilOrLate(copies.changed, look, { clock, maxWaitMs, signal });
  } finally {
    cancel();
  }
}

/**
 * Units that their primaries have not saved. After a clean stop of the primary, the head names a file, and does not
 * count on a copy.
 */
function unsavedIn(copies: CopiesHere): number[] {
  const { machines, me } = copies;
  return machines.units().filter((unit) => {
    const head = copies.headOf(unit)?.head;
    return machines.of(unit)!.role === 'member' && head !== undefined && isCountedOn(head, me);
  });
}
