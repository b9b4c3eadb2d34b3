/** Async mode: the passes are over when every task is done, and closed in every shard (docs/modes.md). */
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { followRecovery, type Recovery, type RecoveryView } from '../../../cluster/placement/recovery.ts';
import { abortOnChange, createSignal, orAborted, type Signal } from '../../../cluster/waiting.ts';
import { parseStoreValue, totalSums } from '../../../core/tasks/state.ts';
import { type Dataset, describeTask } from '../dataset.ts';
import type { Trained, TrainerEvent, Training, TrainingOptions } from '../training.ts';
import { closeDiscarded, conclude } from './conclude.ts';
import { describeTasks, waitReason } from './describe.ts';
import { openTrainingService, taskFailure } from './open-service.ts';
import { type Reconciled, type Repairs, reconciledSchema, startRepairs } from './repairs.ts';
import { saveNow } from './save-each.ts';
import type { TaskService } from './service.ts';
import type { TasksState } from './state.ts';

export interface TaskTraining extends Training {
  readonly mode: 'async';
  readonly service: TaskService;
  readonly dataset: Dataset;
  readonly repairs: Repairs;
  /** The recovery number as the store has it. */
  recovery(): number;
}

export async function openTaskTraining(options: TrainingOptions): Promise<TaskTraining> {
  const { context, dataset, onFatal } = options;
  const changed = createSignal();
  const onChanged = (): void => {
    changed.notify();
    options.onChanged();
  };
  const live = new Set<string>();
  const { service, history, goOn, evaluated, sampled } = await openTrainingService(options, onChanged);
  const recoveries = followRecovery(context, onFatal);
  const repairs = await openRepairs(options, { service, recoveries, live, onChanged });
  const state: TasksState = { options, service, repairs, recoveries, live };

  return {
    mode: 'async',
    service,
    dataset,
    repairs,
    recovery: () => recoveries.current()?.number ?? 0,
    history: () => history.current(),
    evaluated,
    sampled,
    length: { passes: options.record.job.training.passes },
    goOn({ passes }) {
      goOn(passes);
      onChanged();
    },
    trained: () => waitUntilTrained(state, changed),
    tell(event) {
      note(live, event);
      service.tell(event);
      repairs.batch()?.service.tell(event);
    },
    passesEnded: () => service.queue.totals().ended.length,
    applied: async () => {
      const { ended, current } = service.queue.totals();
      return totalSums([...ended.map(({ sums }) => sums), current]).good;
    },
    pass: () => service.queue.counts().pass,
    waitReason: () => waitReason(state),
    describe: () => ({ mode: 'async', ...describeTasks(state) }),
    // Only training's own end is waited for, and nothing but that follows it.
    wake: () => {},
    close() {
      service.close();
      repairs.cancel();
      recoveries.cancel();
    },
  };
}

function note(live: Set<string>, event: TrainerEvent): void {
  if (event.type === 'joined') live.add(event.trainer);
  else if (event.type === 'gone') live.delete(event.trainer);
  else if (event.type === 'roster') {
    live.clear();
    for (const trainer of event.trainers) live.add(trainer);
  }
}

interface RepairsNeed extends Pick<TasksState, 'service' | 'recoveries' | 'live'> {
  readonly onChanged: () => void;
}

/** Once the recovery number is known. */
async function openRepairs(
  options: TrainingOptions,
  { service, recoveries, live, onChanged }: RepairsNeed,
): Promise<Repairs> {
  const { context, record, dataset, stopSignal, onFatal } = options;
  try {
    await recoveries.changed.until(() => recoveries.current(), stopSignal);
    return startRepairs({
      ...options,
      training: service,
      taskRecords: dataset.taskRecords,
      describeTask: (task) => describeTask(dataset, task),
      recoveries,
      roster: () => [...live],
      reconciled: await readReconciled(context),
      onFailed: (discarded) => onFatal(taskFailure(discarded, record)),
      onChanged,
    });
  } catch (error) {
    service.close();
    recoveries.cancel();
    throw error;
  }
}

async function waitUntilTrained({ options, service, repairs, recoveries }: TasksState, changed: Signal) {
  const { group, stopSignal } = options;
  const isDone = (): Recovery | undefined => {
    const now = recoveries.current();
    const { phase } = service.queue.counts();
    return phase === 'ended' && now !== undefined && repairs.reconciled() >= now.number ? now : undefined;
  };
  for (;;) {
    const recovery = await changed.until(isDone, stopSignal);
    // A push of a discarded task may still be in flight: once the task is closed everywhere, no such push is applied.
    await closeDiscarded(group, service.queue, service.queue.discarded(), stopSignal);
    await repairs.check();
    if (isDone()?.number === recovery.number) return trainedAt(options, { service, repairs, recoveries, recovery });
  }
}

interface TasksEnd {
  readonly service: TaskService;
  readonly repairs: Repairs;
  readonly recoveries: RecoveryView;
  readonly recovery: Recovery;
}

function trainedAt(options: TrainingOptions, { service, repairs, recoveries, recovery }: TasksEnd): Trained {
  const { number, modRevision } = recovery;
  const isOther = (): boolean => recoveries.current()?.number !== number;
  const { signal, release } = abortOnChange(recoveries.changed, isOther, options.stopSignal);
  return {
    restores: number,
    overtaken: signal,
    unchanged: { key: options.context.keys.recovery, modRevision },
    at: { passes: service.queue.totals().ended.length },
    save: (signal) => {
      const saved = options.group.withPlacement('save', ({ pservers }) => saveNow(options, pservers, signal), signal);
      return orAborted(saved, signal);
    },
    conclude: (ending) => conclude({ ...options, ...ending, service, replayed: repairs.sums(), recovery: number }),
    release,
  };
}

async function readReconciled(context: RoleContext): Promise<Reconciled> {
  const key = context.keys.tasksReconciled;
  const entry = await retryStore(context, () => context.store.get(key));
  if (entry === undefined) return { number: 0, read: 0, duplicate: 0 };
  return parseStoreValue(reconciledSchema, key, entry.value);
}
