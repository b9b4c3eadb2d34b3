/**
 * Async mode: closes discarded tasks in the ledgers. Closing a task is an update, as a push is:
 * - it has a place in the order of updates of each shard;
 * - when it is applied, no head may name a file as the last state;
 * - the last checkpoint must contain it.
 */
import { PaddletError } from '../../../../base/errors.ts';
import { CLOSED } from '../../../../core/shard/ledger.ts';
import type { PushPlan } from '../../../../core/shard/push-plan.ts';
import type { ServedReplicas } from '../../replicas/served-replicas.ts';
import { answerAfter, answerWhenReady } from '../../requests/checks.ts';
import type { Reply } from '../../requests/requests.ts';
import type { Serving } from '../../serving.ts';
import type { ClosedTask, CloseUpdate } from '../../update/update.ts';
import { inTurn, placeUpdate } from './place-updates.ts';

type Closing = Pick<Serving, 'beforeUpdate' | 'isFrozen' | 'isHeld' | 'moves' | 'replicas'> & {
  readonly shards: Pick<Serving['shards'], 'committed' | 'apply'>;
  readonly job: { readonly plan: Pick<PushPlan, 'recordsOf'> };
};

/**
 * Throws `WrongCounts` if the number of records of a task differs from the plan. Throws `Draining` if an open task
 * would have to be closed after the last checkpoint.
 */
export function closeTasks(serving: Closing, tasks: readonly ClosedTask[]): Reply | Promise<Reply> {
  const { shards } = serving;
  for (const { pass, task, records } of tasks) {
    const planned = serving.job.plan.recordsOf(task);
    if (records === planned) continue;
    throw new PaddletError('WrongCounts', `task ${task} in pass ${pass} has ${planned} records, not ${records}`);
  }
  const isDone = (): boolean => tasks.every(({ pass, task }) => shards.committed.position(pass, task) === CLOSED);
  const { replicas } = serving;
  const turn = replicas?.placing.turns.of(tasks);
  const ready = (): Promise<void> | undefined =>
    replicas === undefined
      ? (serving.moves?.wait('update') ?? serving.beforeUpdate())
      : (turn!.wait() ?? replicas.wait('update') ?? serving.beforeUpdate());
  const close = (): Reply | Promise<Reply> => {
    const open = tasks.filter(({ pass, task }) => shards.committed.position(pass, task) !== CLOSED);
    if (open.length > 0 && serving.isFrozen()) {
      throw new PaddletError('Draining', 'this pserver is draining and closes no more tasks');
    }
    if (replicas !== undefined && open.length > 0) return closeInCopies(open, replicas);
    if (open.length === 0) return closed();
    const update: CloseUpdate = { type: 'close', tasks: open };
    shards.apply(update);
    const forwarded = serving.moves?.applied(() => update);
    return answerAfter(serving, forwarded, closed);
  };
  const closeInCopies = (open: readonly ClosedTask[], to: ServedReplicas): Promise<Reply> => {
    const { stamp, heads } = to.owned;
    const make = (): CloseUpdate => ({ type: 'close', tasks: open });
    const isCurrent = (): boolean => to.owned.stamp === stamp && !serving.isFrozen() && !heads.areResting;
    const judged = { make, decide: make, isCurrent, units: heads.units() };
    turn!.take();
    return placeUpdate(serving, to, judged, { again: () => answerWhenReady(serving, ready, close), answer: closed });
  };
  // Each new master sends the request again. Closing tasks that are already closed changes nothing, so do not wait.
  const closeWhenReady = (): Reply | Promise<Reply> => (isDone() ? close() : answerWhenReady(serving, ready, close));
  return turn === undefined ? closeWhenReady() : inTurn(turn, closeWhenReady);
}

const closed = (): Reply => ({ header: { type: 'closeTasks' } });
