/** What a pserver checks before it answers a request, and checks again after everything that a request waited for. */
import { PaddletError } from '../../../base/errors.ts';
import { type PlacementStamp, sameStamp } from '../../../core/placement.ts';

export interface Lease {
  /** False while the lease is not certainly held. */
  readonly isHeld: () => boolean;
}

/** Throws `Suspended` while the lease is not certainly held. */
export function checkHeld({ isHeld }: Lease): void {
  if (!isHeld()) throw new PaddletError('Suspended', 'this pserver is cut off from the store');
}

/**
 * Answers at once when there is nothing to wait for. Else answers after `wait`, if the lease is still held then: a
 * lease that was checked before the wait may have run out during it.
 */
export function answerAfter<T>(
  lease: Lease,
  wait: Promise<void> | undefined,
  answer: () => T | Promise<T>,
): T | Promise<T> {
  if (wait === undefined) return answer();
  return wait.then(() => {
    checkHeld(lease);
    return answer();
  });
}

/** As `answerAfter`, and asks again after each wait: the answer begins while there is nothing to wait for. */
export function answerWhenReady<T>(
  lease: Lease,
  wait: () => Promise<void> | undefined,
  answer: () => T | Promise<T>,
): T | Promise<T> {
  const waiting = wait();
  if (waiting === undefined) return answer();
  return answerAfter(lease, waiting, () => answerWhenReady(lease, wait, answer));
}

/**
 * Throws `StalePlacement` when the sender believes this pserver to hold another set of shards, and whenever it holds
 * none: what it would answer for them, as that no task has begun, would be about nothing.
 */
export function checkStamp(shards: { readonly stamp: PlacementStamp }, claimed: PlacementStamp): void {
  const { stamp } = shards;
  if (stamp.shards === 0) throw new PaddletError('StalePlacement', 'this pserver holds no shards');
  if (sameStamp(claimed, stamp)) return;
  throw new PaddletError('StalePlacement', `the placement here is ${textOf(stamp)}, not ${textOf(claimed)}`);
}

const textOf = ({ revision, shards }: PlacementStamp): string => `${revision} with ${shards} shards`;
