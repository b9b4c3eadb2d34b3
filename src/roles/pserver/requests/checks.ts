/** Checks that a pserver makes before it answers a request, and repeats after each wait of the request. */
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
 * Answers at once if `wait` is undefined. Otherwise answers after `wait`, if the lease is still held: it may have run
 * out during the wait.
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

/** Like `answerAfter`, but calls `wait` again after each wait, until it returns undefined. Then starts the answer. */
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
 * Throws `StalePlacement` if the sender expects this pserver to lead a different set of shards. Throws it also if this
 * pserver leads none, since an answer such as "no task has started" would then be meaningless.
 */
export function checkStamp(shards: { readonly stamp: PlacementStamp }, claimed: PlacementStamp): void {
  const { stamp } = shards;
  if (stamp.shards === 0) throw new PaddletError('StalePlacement', 'this pserver holds no shards');
  if (sameStamp(claimed, stamp)) return;
  throw new PaddletError('StalePlacement', `the placement here is ${textOf(stamp)}, not ${textOf(claimed)}`);
}

const textOf = ({ revision, shards }: PlacementStamp): string => `${revision} with ${shards} shards`;
