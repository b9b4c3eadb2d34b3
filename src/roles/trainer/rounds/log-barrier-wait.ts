/** Logs, while a round takes long, which lanes it waits for and which trainers compute them. */
import type { Cancel, Host } from '../../../base/seams.ts';
import { logWaiting } from '../../../cluster/waiting.ts';
import type { LaneAssignment } from './lane-assignment.ts';

const LOG_AFTER_MS = 10_000;

export interface BarrierWait {
  /** A pserver waits for these lanes. */
  readonly pending: (pserver: number, missing: readonly number[]) => void;
  readonly cancel: Cancel;
}

export function logBarrierWait(
  { clock, log }: Pick<Host, 'clock' | 'log'>,
  round: number,
  lanes: Pick<LaneAssignment, 'ownersOf'>,
): BarrierWait {
  const sinceMs = clock.monotonicMs();
  const missingAt = new Map<number, readonly number[]>();
  const describe = (): string => {
    const seconds = Math.round((clock.monotonicMs() - sinceMs) / 1000);
    return `${barrierText(round, missingAt, (lane) => lanes.ownersOf(lane))}, for ${seconds} s`;
  };
  const cancel = logWaiting(clock, log, describe, LOG_AFTER_MS);
  return { pending: (pserver, missing) => void missingAt.set(pserver, missing), cancel };
}

/** `round 17: lanes 3, 5 at pserver 1, of trainer ab12…`. */
export function barrierText(
  round: number,
  missingAt: ReadonlyMap<number, readonly number[]>,
  ownersOf: (lane: number) => readonly string[],
): string {
  const missing = [...missingAt].filter(([, lanes]) => lanes.length > 0).sort(([a], [b]) => a - b);
  if (missing.length === 0) return `round ${round}: the pservers`;
  const at = missing.map(([pserver, lanes]) => `lanes ${listed(lanes)} at pserver ${pserver}`);
  const owners = new Set(missing.flatMap(([, lanes]) => lanes).flatMap(ownersOf));
  const whose = owners.size === 0 ? 'without a trainer' : `of trainer ${listed([...owners])}`;
  return `round ${round}: ${at.join('; ')}, ${whose}`;
}

const LISTED_AT_MOST = 8;

function listed(some: readonly (number | string)[]): string {
  const more = some.length - LISTED_AT_MOST;
  return `${some.slice(0, LISTED_AT_MOST).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
