/**
 * The one place that changes heads. Changes that have one reason share transactions. Each transaction is fenced by the
 * actor's claim and compares every head with the revision that the actor read. An attempt whose outcome is unknown may
 * still land, so it is settled by an answered transaction, never by a read alone: when the compares of the same
 * transaction fail, the heads in its answer tell what happened.
 */
import { failPoint } from '../../base/fail-points.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Compare, KeyValue } from '../../store/store.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { type Head, parseHead } from './heads.ts';

export interface HeadChange {
  readonly unit: number;
  /** Revision of the head as it was read; 0n if the unit has none. */
  readonly modRevision: bigint;
  readonly head: Head;
}

export interface ChangedHead {
  readonly unit: number;
  /** False when the head was another than the one that was read, or `also` did not hold. */
  readonly isMade: boolean;
  /** As the store has it after the change; undefined when the unit has no head. */
  readonly head: Head | undefined;
  /** 0n when the unit has no head. */
  readonly modRevision: bigint;
}

export interface ChangeHeads {
  readonly context: RoleContext;
  /** Fence of the actor's claim. */
  readonly fence: Fence;
  /** What else must hold for all of the changes. */
  readonly also?: readonly Compare[];
  /** Ends waiting for the store: then the outcome is unknown. Default: when the process is asked to stop. */
  readonly signal?: AbortSignal;
}

/** How many changes one transaction takes, with the actor's claim and these compares. */
export const mostTogether = (also: readonly Compare[] = []): number => LIMITS.storeTxnOps - 1 - also.length;

/**
 * Makes the changes, in their order. One that is refused holds up no other. Throws `LeaseGone` when the claim is
 * another's by now, `Interrupted` when aborted.
 */
export async function changeHeads(by: ChangeHeads, changes: readonly HeadChange[]): Promise<ChangedHead[]> {
  const made: ChangedHead[] = [];
  const atOnce = mostTogether(by.also);
  for (let from = 0; from < changes.length; from += atOnce) {
    made.push(...(await changeTogether(by, changes.slice(from, from + atOnce))));
  }
  return made;
}

/** In one transaction; again without those that turn out to be refused. */
async function changeTogether(by: ChangeHeads, changes: readonly HeadChange[]): Promise<ChangedHead[]> {
  const { context, signal } = by;
  const { keys } = context;
  const answer = await retryStore(context, () => attempt(by, changes), signal);
  failPoint('heads.changed');
  if (answer.succeeded) {
    return changes.map(({ unit, head }) => ({ unit, isMade: true, head, modRevision: answer.revision }));
  }
  const found = changes.map((change, at) => stateOf(change, keys.head(change.unit), answer.results[at]));
  const left = changes.filter((_, at) => found[at] === undefined);
  // Every head is as it was read: something else does not hold.
  if (left.length === changes.length) {
    return changes.map((change, at) => seen(change.unit, keys.head(change.unit), answer.results[at], false));
  }
  const again = left.length === 0 ? [] : await changeTogether(by, left);
  return changes.map(({ unit }, at) => found[at] ?? again.find((one) => one.unit === unit)!);
}

function attempt({ context, fence, also = [] }: ChangeHeads, changes: readonly HeadChange[]) {
  const { keys, store } = context;
  return fencedTxn(store, fence, {
    if: [...also, ...changes.map(({ unit, modRevision }) => ({ key: keys.head(unit), modRevision }))],
    then: changes.map(({ unit, head }) => ({ put: keys.head(unit), value: JSON.stringify(head) })),
    else: changes.map(({ unit }) => ({ get: keys.head(unit) })),
  });
}

/**
 * The outcome of a change whose head is not as it was read: an earlier attempt made the change, or it is refused.
 * Undefined: the head is as it was read.
 */
function stateOf(change: HeadChange, key: string, entry: KeyValue | undefined): ChangedHead | undefined {
  if ((entry?.modRevision ?? 0n) === change.modRevision) return undefined;
  return seen(change.unit, key, entry, entry?.value === JSON.stringify(change.head));
}

const seen = (unit: number, key: string, entry: KeyValue | undefined, isMade: boolean): ChangedHead => ({
  unit,
  isMade,
  head: entry && parseHead(key, entry.value),
  modRevision: entry?.modRevision ?? 0n,
});
