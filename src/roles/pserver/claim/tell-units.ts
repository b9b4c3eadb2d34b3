/** Keeps `/pservers/<index>` true to the units that this pserver leads, and to how large they are. */
import type { UnitBytes } from '../../../cluster/placement/pserver-record.ts';
import { pauseOrAborted } from '../../../cluster/waiting.ts';
import type { ShardService } from '../shard-service.ts';
import { announce, type OwnedIndex } from './owned-index.ts';

/** How often it is looked whether there is something new. */
const LOOK_MS = 2_000;
/** A unit that has grown or shrunk by less than this part is not new. */
const NOTABLE = 0.02;

/** Until the signal aborts: then `Interrupted`. Throws `LeaseGone` when the index is another's by now. */
export async function keepUnitsTold(
  owned: OwnedIndex,
  service: Pick<ShardService, 'unitBytes'>,
  status: 'up' | 'draining',
  signal: AbortSignal,
): Promise<never> {
  let told = service.unitBytes();
  await announce(owned, status, told, signal);
  for (;;) {
    await pauseOrAborted(owned.context.host.clock, LOOK_MS, signal);
    const now = service.unitBytes();
    if (!isNotable(told, now)) continue;
    told = now;
    await announce(owned, status, told, signal);
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
