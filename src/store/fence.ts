/** Writes that prove their writer's ownership, and writes whose outcome must be known. */
import { PaddletError } from '../base/errors.ts';
import type { Compare, Op, Store, TxnResult } from './store.ts';

/** The ownership key and the fencing token: the revision that created it. */
export interface Fence {
  readonly key: string;
  readonly token: bigint;
}

export interface FencedTxn {
  readonly if?: readonly Compare[];
  readonly then: readonly Op[];
  readonly else?: readonly Op[];
}

/**
 * A transaction on the writer's token. `LeaseGone` when the ownership key does not exist or has another owner;
 * `succeeded: false` when only the caller's own compares failed. Takes one compare and one operation of `else` of the
 * store's limits.
 */
export async function fencedTxn(store: Store, fence: Fence, txn: FencedTxn): Promise<TxnResult> {
  const answer = await store.txn({
    if: [{ key: fence.key, createRevision: fence.token }, ...(txn.if ?? [])],
    then: txn.then,
    else: [{ get: fence.key }, ...(txn.else ?? [])],
  });
  if (answer.succeeded) return answer;
  const [owner, ...results] = answer.results;
  if (owner?.createRevision !== fence.token) throw fenceGone(fence, owner?.createRevision);
  return { ...answer, results };
}

function fenceGone(fence: Fence, newToken: bigint | undefined): PaddletError {
  const now = newToken === undefined ? 'the key has no owner now' : `the owner now has token ${newToken}`;
  return new PaddletError('LeaseGone', `${fence.key} is no longer owned by token ${fence.token}: ${now}`, {
    hint: 'the process that owned the key was cut off from the store for longer than its lease',
  });
}
