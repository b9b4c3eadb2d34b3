/** Checks the record counts in requests against the batch plan and against applied pushes. */
import { PaddletError } from '../../../base/errors.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { CommittedLedgers } from '../../../core/shard/ledgers.ts';
import { type PushPlan, whyContradicts } from '../../../core/shard/push-plan.ts';

export interface CountsOf {
  readonly plan: PushPlan;
  readonly ledgers: Pick<CommittedLedgers, 'applied'>;
  /** Called if two attempts have counted the same records differently: no process can tell which count is right. */
  readonly onContradiction: (error: PaddletError) => void;
}

/**
 * Throws `WrongCounts` for a push that the batch plan rules out, or that contradicts a push of another attempt. For a
 * contradiction, calls `onContradiction` first.
 */
export function checkCounts({ plan, ledgers, onContradiction }: CountsOf, push: PushPosition): void {
  const unplanned = plan.whyUnplanned(push);
  if (unplanned !== undefined) {
    throw new PaddletError('WrongCounts', `push ${push.push} of ${nameOf(push)}: ${unplanned}`);
  }
  for (const applied of ledgers.applied(push.pass, push.task)) {
    const why = whyContradicts(plan, push, applied);
    if (why === undefined) continue;
    const error = contradiction(push, why);
    onContradiction(error);
    throw error;
  }
}

export const contradiction = (task: Pick<PushPosition, 'pass' | 'task'>, why: string): PaddletError =>
  new PaddletError('WrongCounts', `two attempts at ${nameOf(task)} count its records differently: ${why}`, {
    hint: 'one trainer reads different data than the other trainers, or is not a paddlet trainer: find it in the logs of the trainers',
  });

const nameOf = ({ pass, task }: Pick<PushPosition, 'pass' | 'task'>): string => `task ${task} in pass ${pass}`;
