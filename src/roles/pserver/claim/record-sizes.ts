/** Keeps the record `/pservers/<index>` up to date: the units that this pserver leads, and their sizes. */
import type { UnitBytes } from '../../../cluster/placement/pserver-record.ts';
import { pauseOrAborted } from '../../../cluster/waiting.ts';
import type { ShardService } from '../shard-service.ts';
import { announce, type OwnedIndex } from './owned-index.ts';

/** How often this pserver compares its units with its record. */
const COMPARE_MS = 2_000;
/** Change of a unit's size, as a fraction, from which the record is written again. */
const NOTABLE = 0.02;

/**
 * Runs until the signal aborts, then throws `Interrupted`. Throws `LeaseGone` if another process has the index by now.
 */
export async function keepRecordCurrent(
  owned: OwnedIndex,
  service: Pick<ShardService, 'unitBytes'>,
  status: 'up' | 'draining',
  signal: AbortSignal,
): Promise<never> {
  let reported = service.unitBytes();
  await announce(owned, status, reported, signal);
  for (;;) {
    await pauseOrAborted(owned.context.host.clock, COMPARE_MS, signal);
    const now = service.unitBytes();
    if (!isNotable(reported, now)) continue;
    reported = now;
    await announce(owned, status, reported, signal);
  }
}

function isNotable(before: readonly UnitBytes[], now: readonly UnitBytes[]): boolean {
  if (before.length !== now.length) return true;
  const known = new Map(before.map(({ unit, bytes }) => [unit, bytes]));
  return now.some(({ unit, bytes }) => {
    const was = known.get(unit);
    return was === undefined || Math.abs(bytes - was) > NOTABLE * was;
  });
}
