/** Mode async: the passes are over when every task is done, and closed in every shard (DESIGN §4, §5). */
import * as z from 'zod';
import { assert } from '../../../base/assert.ts';
import { isErrorCode, isPaddletError, PaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { AttemptInfo } from '../../../cluster/info.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { followRecovery, type Recovery, type RecoveryView } from '../../../cluster/placement/recovery.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { createTaskQueue } from '../../../core/tasks/queue.ts';
import { type DiscardedTask, parseStoreValue } from '../../../core/tasks/state.ts';
import { type Dataset, describeTask } from '../dataset.ts';
import { ignoreWhen, type Trained, type Training, type TrainingOptions } from '../training.ts';
import { closeDiscarded, conclude } from './conclude.ts';
import { loadQueue } from './queue-store.ts';
import { type Repairs, startRepairs } from './repairs.ts';
import { createSavePipeline } from './save-pipeline.ts';
import { createTaskService, type TaskService } from './service.ts';

export interface TaskTraining extends Training {
  readonly mode: 'async';
  readonly desk: TaskService;
  readonly dataset: Dataset;
  readonly repairs: Repairs;
  /** The recovery number as the store has it. */
  recovery(): number;
}

export async function openTaskTraining(options: TrainingOptions): Promise<TaskTraining> {
  const { context, record, dataset, over, fail } = options;
  const { clock } = context.host;
  const changed = createSignal();
  const onChanged = (): void => {
    changed.notify();
    options.onChanged();
  };
  const desk = await openDesk(options, onChanged);
  const live = new Set<string>();
  const recoveries = followRecovery(context, fail);
  let repairs: Repairs;
  try {
    await recoveries.changed.until(() => recoveries.current(), over);
    repairs = startRepairs({
      ...options,
      training: desk,
      taskRecords: dataset.taskRecords,
      describeTask: (task) => describeTask(dataset, task),
      recoveries,
      roster: () => [...live],
      reconciled: await readReconciled(context),
      onFailed: (discarded) => fail(taskFailure(discarded, record)),
      onEnd: fail,
      onChanged,
    });
  } catch (error) {
    desk.close();
    recoveries.cancel();
    throw error;
  }

  return {
    mode: 'async',
    desk,
    dataset,
    repairs,
    recovery: () => recoveries.current()?.number ?? 0,
    async trained() {
      const isDone = (): Recovery | undefined => {
        const now = recoveries.current();
        const { phase } = desk.queue.counts();
        return phase === 'ended' && now !== undefined && repairs.reconciled() >= now.number ? now : undefined;
      };
      for (;;) {
        const recovery = await changed.until(isDone, over);
        // Of a task that was discarded a push may be on its way: once the task is closed everywhere, none is applied.
        await closeDiscarded(options.group, record, desk.queue.discarded(), over);
        if (isDone()?.number === recovery.number) return trainedAt(options, { desk, recoveries, recovery });
      }
    },
    tell(event) {
      if (event.type === 'roster') live.clear();
      if (event.type === 'roster') for (const trainer of event.trainers) live.add(trainer);
      else if (event.type === 'joined') live.add(event.trainer);
      else if (event.type === 'gone') live.delete(event.trainer);
      desk.tell(event);
      repairs.round()?.desk.tell(event);
    },
    passesEnded: () => desk.queue.totals().ended.length,
    applied: async () => {
      const { ended, current } = desk.queue.totals();
      return ended.reduce((sum, { sums }) => sum + sums.good, current.good);
    },
    pass: () => desk.queue.counts().pass,
    waitReason() {
      const { todo, pending, phase, missingTrainers } = desk.queue.counts();
      const { maxTrainers } = record.job.cluster;
      if (missingTrainers > 0) return `${missingTrainers} more trainers must join (cluster.minTrainers)`;
      if (repairs.round() !== undefined) return 'tasks are repaired after a pserver was restored';
      if (phase !== 'train') return undefined;
      if (todo === 0) return `all tasks are dealt; ${pending} are being worked on`;
      return live.size > maxTrainers
        ? `at most ${maxTrainers} trainers work at a time (cluster.maxTrainers)`
        : 'no trainer has asked for a task';
    },
    describe: () => ({
      mode: 'async',
      tasks: desk.queue.counts(),
      recovery: {
        number: recoveries.current()?.number ?? 0,
        reconciled: repairs.reconciled(),
        repairing: repairs.round()?.items.length ?? 0,
      },
      attempts: attemptsOf(desk, clock.monotonicMs()),
      discarded: desk.queue.discarded(),
      sums: sumsOf(desk),
    }),
    // Only training's own end is waited for, and nothing but that follows it.
    wake: () => {},
    close() {
      desk.close();
      repairs.cancel();
      recoveries.cancel();
    },
  };
}

interface End {
  readonly desk: TaskService;
  readonly recoveries: RecoveryView;
  readonly recovery: Recovery;
}

function trainedAt(options: TrainingOptions, { desk, recoveries, recovery }: End): Trained {
  const overtaken = new AbortController();
  const stopWatching = watchRecovery(recoveries, recovery, overtaken, options.over);
  return {
    overtaken: overtaken.signal,
    unchanged: { key: options.context.keys.recovery, modRevision: recovery.modRevision },
    conclude: (ending) => conclude({ ...options, ...ending, desk, recovery: recovery.number }),
    release: stopWatching,
  };
}

function watchRecovery(view: RecoveryView, from: Recovery, overtaken: AbortController, over: AbortSignal): Cancel {
  const stop = new AbortController();
  view.changed
    .until(() => (view.current()?.number === from.number ? undefined : true), AbortSignal.any([over, stop.signal]))
    .then(
      () => overtaken.abort(),
      (error: unknown) => assert(isPaddletError(error, 'Interrupted'), 'waiting ends by an interruption only'),
    );
  return () => stop.abort();
}

async function readReconciled(context: RoleContext): Promise<number> {
  const key = context.keys.tasksReconciled;
  const entry = await retryStore(context, () => context.store.get(key));
  return entry === undefined ? 0 : parseStoreValue(z.int().min(0), key, entry.value);
}

async function openDesk(options: TrainingOptions, onEnded: () => void): Promise<TaskService> {
  const { context, record, dataset, fence, over, fail, group } = options;
  const { log, clock } = context.host;
  const saved = await retryStore(context, () => loadQueue(context.store, context.keys), over);
  const pipeline = createSavePipeline({ context, fence, over, onEnd: fail });
  const queue = createTaskQueue(queueConfig(record, dataset), saved, clock.monotonicMs());
  const { pass, done } = queue.counts();
  if (pass > 0 || done > 0) log.info(`going on in pass ${pass + 1} of ${record.job.training.passes}`, { done });
  closeDiscarded(group, record, queue.discarded(), over).catch(ignoreWhen(over, fail));
  return createTaskService({
    context,
    name: 'training',
    queue,
    pipeline,
    isHeld: options.isHeld,
    onEnded,
    onFailed: (discarded) => fail(taskFailure(discarded, record)),
    onDiscarded: (discarded) => closeDiscarded(group, record, [discarded], over).catch(ignoreWhen(over, fail)),
    onPassEnded: (ended, { sums, discarded }) => {
      const { records, loss } = sums.metrics;
      options.onPassEnded({
        pass: ended,
        loss: records === 0 ? undefined : loss / records,
        records,
        facts: { records: sums.good, bad: sums.bad, discarded },
      });
      options.onPassesEnded(ended + 1);
    },
  });
}

export function queueConfig(record: JobRecord, dataset: Dataset) {
  const { tasks, training, cluster } = record.job;
  return {
    taskRecords: dataset.taskRecords,
    describeTask: (task: number) => describeTask(dataset, task),
    passes: training.passes,
    seed: training.seed,
    minTrainers: cluster.minTrainers,
    maxTrainers: cluster.maxTrainers,
    ...tasks,
  };
}

/** Data that cannot be read fails the job as such; anything else as a task that cannot be done. */
export function taskFailure(discarded: DiscardedTask, record: JobRecord): PaddletError {
  const { task, where, error, code, trainer } = discarded;
  const { maxDiscarded, maxFailures } = record.job.tasks;
  const isData = code.startsWith('Data') || code === 'TooManyBadRecords';
  return new PaddletError(
    isData && isErrorCode(code) ? code : 'TaskDiscarded',
    `task ${task} (${where}) failed more than ${maxFailures} times, last on trainer ${trainer}: ${error}`,
    { hint: `tasks.maxDiscarded is ${maxDiscarded}: raise it to go on without such tasks` },
  );
}

/** Live attempts; `slow` marks those far older than tasks take. */
function attemptsOf({ queue }: TaskService, at: number): AttemptInfo[] {
  const stragglerMs = queue.stragglerMs();
  return queue.attempts().map(({ since, ranMs, ...attempt }) => {
    const ageMs = Math.round(at - since);
    return { ...attempt, ranMs: Math.round(ranMs), ageMs, slow: stragglerMs !== undefined && ageMs > stragglerMs };
  });
}

function sumsOf({ queue }: TaskService) {
  const { ended, current } = queue.totals();
  const all = [...ended.map(({ sums }) => sums), current];
  return {
    read: all.reduce((sum, { read }) => sum + read, 0),
    good: all.reduce((sum, { good }) => sum + good, 0),
    bad: all.reduce((sum, { bad }) => sum + bad, 0),
    duplicate: all.reduce((sum, { duplicate }) => sum + duplicate, 0),
  };
}
