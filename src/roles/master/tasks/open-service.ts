/** The service of the training queue, with what a job says about its tasks. */
import { PaddletError } from '../../../base/errors.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { loadQueue } from '../../../cluster/job/queue-store.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { EvaluationPoint } from '../../../core/history.ts';
import type { TablesPoint } from '../../../core/table-history.ts';
import { type Addressing, trainingTasks } from '../../../core/tasks/address.ts';
import type { QueueConfig } from '../../../core/tasks/events.ts';
import { isDataFault, isSameForEveryTrainer } from '../../../core/tasks/failure.ts';
import { createTaskQueue } from '../../../core/tasks/queue.ts';
import type { DiscardedTask } from '../../../core/tasks/state.ts';
import { type Dataset, describeTask } from '../dataset.ts';
import { loadHistory } from '../load-history.ts';
import { ignoreAfter, type TrainingOptions } from '../training.ts';
import { closeDiscarded } from './conclude.ts';
import { TaskHistory } from './history.ts';
import { createSavePipeline } from './save-pipeline.ts';
import { createTaskService, type TaskService } from './service.ts';

export interface TrainingService {
  readonly service: TaskService;
  readonly history: TaskHistory;
  /** As many passes may be trained, and what was discarded is closed in them. */
  readonly goOn: (until: number) => void;
  /** Adds an evaluation to the curves, and saves them. */
  readonly evaluated: (point: EvaluationPoint) => Promise<void>;
  /** Adds figures of tables to the history, and saves them. */
  readonly sampled: (point: TablesPoint) => Promise<void>;
}

/** Opens the service with the saved queue, or with a new one. */
export async function openTrainingService(options: TrainingOptions, onEnded: () => void): Promise<TrainingService> {
  const { context, record, dataset, fence, stopSignal, onFatal, group } = options;
  const { log, clock } = context.host;
  const saved = await retryStore(context, () => loadQueue(context.store, context.keys), stopSignal);
  const pipeline = createSavePipeline({ context, fence, stopSignal, onFatal });
  const config = { ...queueConfig(record, dataset, trainingTasks), until: options.until(record.job.training).passes };
  const queue = createTaskQueue(config, saved, clock.monotonicMs());
  const history = new TaskHistory(clock, await loadHistory(context, stopSignal), queue);
  const { pass, done } = queue.counts();
  if (pass > 0 || done > 0) log.info(`resuming in pass ${pass + 1} of ${record.job.training.passes}`, { done });
  const close = (discarded: readonly DiscardedTask[]): void => {
    closeDiscarded(group, queue, discarded, stopSignal).catch(ignoreAfter(stopSignal, onFatal));
  };
  const service = createTaskService({
    context,
    name: 'training',
    queue,
    pipeline,
    history,
    isHeld: options.isHeld,
    onEnded,
    onFailed: (discarded) => onFatal(taskFailure(discarded, record)),
    onDiscarded: (discarded) => close([discarded]),
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
  const evaluated = (point: EvaluationPoint): Promise<void> =>
    new Promise((resolve) => pipeline.save(history.evaluated(point), [resolve]));
  const sampled = (point: TablesPoint): Promise<void> =>
    new Promise((resolve) => pipeline.save(history.sampled(point), [resolve]));
  const goOn = (until: number): void => {
    service.tell({ type: 'goOn', until });
    close(queue.discarded());
  };
  // The master before may have died when the queue had halted and was to go on.
  goOn(queue.until());
  return { service, history, goOn, evaluated, sampled };
}

export function queueConfig(record: JobRecord, dataset: Dataset, addressing: Addressing): QueueConfig {
  const { tasks, training, cluster } = record.job;
  return {
    addressing,
    taskRecords: dataset.taskRecords,
    describeTask: (task) => describeTask(dataset, task),
    passes: training.passes,
    seed: training.seed,
    minTrainers: cluster.minTrainers,
    maxTrainers: cluster.maxTrainers,
    ...tasks,
  };
}

/**
 * Data that cannot be read fails the job as such; anything else as a task that cannot be done, as the gradients of
 * another attempt may be finite.
 */
export function taskFailure(discarded: DiscardedTask, record: JobRecord): PaddletError {
  const { task, where, error, code, trainer } = discarded;
  const { maxDiscarded, maxFailures } = record.job.tasks;
  const isFinal = isSameForEveryTrainer(code);
  const howOften = isFinal ? 'failed on' : `failed more than ${maxFailures} times, last on`;
  const leaveOut = `raise tasks.maxDiscarded (${maxDiscarded}) to continue without such tasks`;
  return new PaddletError(
    isDataFault(code) && code !== 'BadGradient' ? code : 'TaskDiscarded',
    `task ${task} (${where}) ${howOften} trainer ${trainer}: ${error}`,
    { hint: discarded.hint ?? (isFinal ? 'check the data with `paddlet doctor JOB`' : leaveOut) },
  );
}
