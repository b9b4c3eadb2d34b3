/**
 * Discarded tasks are closed in the ledgers. A closure is an update as a push is: it has a place in the order of the
 * shards, no head may name a file as the last state by then, and the last checkpoint must contain it.
 */
import { PaddletError } from '../../../base/errors.ts';
import { CLOSED } from '../../../core/shard/ledger.ts';
import type { PushPlan } from '../../../core/shard/push-plan.ts';
import { answerAfter, answerWhenReady } from '../checks.ts';
import type { Reply } from '../requests.ts';
import type { Serving } from '../serving.ts';

interface ClosedTask {
  readonly pass: number;
  readonly task: number;
  readonly records: number;
}

type Closing = Pick<Serving, 'beforeUpdate' | 'isFrozen' | 'isHeld' | 'moves'> & {
  readonly shards: Pick<Serving['shards'], 'committed' | 'close'>;
  readonly job: { readonly plan: Pick<PushPlan, 'recordsOf'> };
};

/**
 * Throws `WrongCounts` when a task has another number of records, and `Draining` when an open task would have to be
 * closed after the last checkpoint.
 */
export function closeTasks(serving: Closing, tasks: readonly ClosedTask[]): Reply | Promise<Reply> {
  const { shards } = serving;
  for (const { pass, task, records } of tasks) {
    const planned = serving.job.plan.recordsOf(task);
    if (records === planned) continue;
    throw new PaddletError('WrongCounts', `task ${task} in pass ${pass} has ${planned} records, not ${records}`);
  }
  const close = (): Reply | Promise<Reply> => {
    const open = tasks.filter(({ pass, task }) => shards.committed.position(pass, task) !== CLOSED);
    if (open.length > 0 && serving.isFrozen()) {
      throw new PaddletError('Draining', 'this pserver is draining and closes no more tasks');
    }
    for (const { pass, task, records } of open) shards.close(pass, task, records);
    const forwarded = open.length === 0 ? undefined : serving.moves?.applied(() => ({ type: 'close', tasks: open }));
    return answerAfter(serving, forwarded, () => ({ header: { type: 'closeTasks' } }));
  };
  // Each new master asks again: what is closed already changes nothing.
  if (tasks.every(({ pass, task }) => shards.committed.position(pass, task) === CLOSED)) return close();
  return answerWhenReady(serving, () => serving.moves?.wait('update') ?? serving.beforeUpdate(), close);
}
