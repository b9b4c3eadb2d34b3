/** What the master tells of the tasks: for `status` and for messages. */
import { type DiscardedTask, noSums, type PassTotals, totalSums } from '../../../core/tasks/state.ts';
import { describeTask } from '../dataset.ts';
import type { TasksState } from './state.ts';

/** Undefined when all passes are done. */
export function waitReason({ options, service, repairs, live }: TasksState): string | undefined {
  const { todo, pending, phase, missingTrainers } = service.queue.counts();
  const { maxTrainers } = options.record.job.cluster;
  if (missingTrainers > 0) return `${missingTrainers} more trainers must join (cluster.minTrainers)`;
  if (repairs.batch() !== undefined) return 'tasks are replayed after a pserver was restored';
  if (phase !== 'train') return undefined;
  if (todo === 0) return `all tasks are handed out; ${pending} are in progress`;
  return live.size > maxTrainers
    ? `at most ${maxTrainers} trainers work at a time (cluster.maxTrainers)`
    : 'no trainer has asked for a task';
}

export function describeTasks({ options, service, repairs, recoveries }: TasksState) {
  const { ended, current } = service.queue.totals();
  const again = { ...noSums(), ...repairs.sums() };
  const { read, good, bad, duplicate } = totalSums([...ended.map(({ sums }) => sums), current, again]);
  return {
    tasks: service.queue.counts(),
    recovery: {
      number: recoveries.current()?.number ?? 0,
      reconciled: repairs.reconciled(),
      repairing: repairs.batch()?.tasks.length ?? 0,
    },
    attempts: attemptsOf({ options, service }),
    discarded: service.queue.discarded(),
    lost: lostIn(ended, service.queue.discarded(), options.record.train.records),
    sums: { read, good, bad, duplicate },
  };
}

/**
 * Records that no task reported, of `records` in each ended pass. Discarded tasks do not count in their pass and later
 * ones.
 */
function lostIn(ended: readonly PassTotals[], discarded: readonly DiscardedTask[], records: number): number {
  return ended.reduce((lost, { sums }, pass) => {
    const leftOut = discarded.filter((task) => task.pass <= pass).reduce((sum, task) => sum + task.records, 0);
    return lost + records - sums.good - sums.bad - leftOut;
  }, 0);
}

/** Live attempts; `slow` marks those far older than tasks take. */
function attemptsOf({ options, service }: Pick<TasksState, 'options' | 'service'>) {
  const now = options.context.host.clock.monotonicMs();
  const stragglerMs = service.queue.stragglerMs();
  return service.queue.attempts().map(({ since, ranMs, ...attempt }) => {
    const ageMs = Math.round(now - since);
    const where = describeTask(options.dataset, attempt.task);
    return {
      ...attempt,
      where,
      ranMs: Math.round(ranMs),
      ageMs,
      slow: stragglerMs !== undefined && ageMs > stragglerMs,
    };
  });
}
