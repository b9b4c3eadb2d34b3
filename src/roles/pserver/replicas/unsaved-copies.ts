/**
 * Before a process ends with the whole job: a copy that is here may be all that is left of its unit. The store counts
 * on it, and the primary of the unit has not saved it: it may be saving, or be dead while its lease still runs.
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
  /** Of `clock.monotonicMs`. */
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves when all of these are saved by their primaries, when this process is about to lead one of them, or when the
 * time is over: who has not died by then lives, and has it. Throws `Interrupted`.
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

/** After a clean stop of its primary the file counts, and no copy: a head that names a file counts on none. */
function unsavedIn(copies: CopiesHere): number[] {
  const { machines, me } = copies;
  return machines.units().filter((unit) => {
    const head = copies.headOf(unit)?.head;
    return machines.of(unit)!.standing === 'member' && head !== undefined && isCountedOn(head, me);
  });
}
