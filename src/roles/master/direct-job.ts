/** One master's work between taking the lock and the job's end: training, evaluation, conclusion. */
import { isErrorCode, PaddletError } from '../../base/errors.ts';
import { createTaskQueue } from '../../core/task-queue.ts';
import type { DiscardedTask } from '../../core/task-state.ts';
import type { Model } from '../../model/model.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { RoleContext } from '../context.ts';
import { type JobRecord, modelOf } from '../job-record.ts';
import type { JobResult, Metrics } from '../job-result.ts';
import { type HeldLease, patiently } from '../ownership.ts';
import { followPlacement } from '../placement-view.ts';
import { createPserverGroup, type PserverGroup } from '../pserver-group.ts';
import { orAborted } from '../waiting.ts';
import { keepClusterStatus } from './cluster-status.ts';
import { closeDiscarded, conclude } from './conclude.ts';
import { type Dataset, describeTask, type JobData } from './dataset.ts';
import { createEvaluationResults } from './evaluation.ts';
import type { MasterInfo } from './info.ts';
import { loadQueue } from './queue-store.ts';
import { createSavePipeline } from './save-pipeline.ts';
import type { MasterState } from './serve.ts';
import { createTaskDesk, type TaskDesk } from './task-desk.ts';
import { followTrainers, type LiveTrainers } from './trainers.ts';

export interface DirectOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly data: JobData;
  readonly fence: Fence;
  readonly lease: HeldLease;
  /** The job ended, was asked to stop, or the lock was lost. */
  readonly over: AbortSignal;
  readonly info: MasterInfo;
  readonly show: (state: MasterState) => void;
}

/** Returns when the result is in the store. Throws `Interrupted` when over before; errors that fail the job. */
export async function directJob(options: DirectOptions): Promise<void> {
  const { context, record, lease } = options;
  /** Aborted with the error that ends this master's work. */
  const crash = new AbortController();
  const fail = (error: unknown): void => crash.abort(error);
  const either = AbortSignal.any([options.over, crash.signal]);
  const view = followPlacement(context, record.job.cluster, fail);
  const group = createPserverGroup(context, record, view);
  const desks: TaskDesk[] = [];
  let trainers: LiveTrainers | undefined;
  const cancelStatus = keepClusterStatus(context, {
    fence: options.fence,
    view,
    pservers: record.job.cluster.pservers,
    onEnd: fail,
  });
  try {
    const trained = Promise.withResolvers<void>();
    const known = Promise.withResolvers<void>();
    const work: Work = { ...options, over: either, group, fail, model: modelOf(record), onTrained: trained.resolve };
    const desk = await openTraining(work);
    desks.push(desk);
    trainers = followTrainers(context, {
      onRoster: (list) => tellAll(desks, { type: 'roster', trainers: list }),
      onJoined: (trainer) => tellAll(desks, { type: 'joined', trainer }),
      onGone: (trainer) => tellAll(desks, { type: 'gone', trainer }),
      onEnd: fail,
    });
    lease.onResume(() => tellAll(desks, { type: 'resumed' }));
    const state: MasterState = {
      record,
      trainers,
      train: { desk, dataset: options.data.train },
      evaluate: undefined,
      trained: known.promise,
      isHeld: lease.isHeld,
    };
    options.show(state);
    const beganMs = context.host.clock.monotonicMs();
    if (desk.queue.counts().phase === 'ended') trained.resolve();
    await orAborted(trained.promise, either);
    const trainedSeconds = (context.host.clock.monotonicMs() - beganMs) / 1000;
    const testMetrics = await evaluate(work, state, desks, known.resolve);
    options.info.enters('concluding');
    const result = await conclude({ ...work, desk, testMetrics, trainedSeconds });
    await publishResult(options, result);
  } catch (error) {
    // What was waited for was given up because of this.
    if (crash.signal.aborted) throw crash.signal.reason;
    throw error;
  } finally {
    cancelStatus();
    trainers?.cancel();
    for (const desk of desks) desk.close();
    group.close();
    view.cancel();
  }
}

interface Work extends DirectOptions {
  readonly group: PserverGroup;
  readonly model: Model;
  readonly fail: (error: unknown) => void;
  readonly onTrained: () => void;
}

function tellAll(desks: readonly TaskDesk[], event: Parameters<TaskDesk['tell']>[0]): void {
  for (const desk of desks) desk.tell(event);
}

async function openTraining(work: Work): Promise<TaskDesk> {
  const { context, record, data, fence, over, fail, group, info } = work;
  const { log, clock } = context.host;
  const saved = await patiently(context, () => loadQueue(context.store, context.keys), over);
  const pipeline = createSavePipeline({ context, fence, over, onEnd: fail });
  const queue = createTaskQueue(queueConfig(record, data.train), saved, clock.monotonicMs());
  const { pass, done } = queue.counts();
  if (pass > 0 || done > 0) log.info(`going on in pass ${pass + 1} of ${record.job.training.passes}`, { done });
  closeDiscarded(group, record, queue.discarded(), over).catch(ignoreWhen(over, fail));
  return createTaskDesk({
    context,
    name: 'training',
    queue,
    pipeline,
    onEnded: work.onTrained,
    onFailed: (discarded) => fail(jobFailure(discarded, record)),
    onDiscarded: (discarded) => closeDiscarded(group, record, [discarded], over).catch(ignoreWhen(over, fail)),
    onPassEnded: (ended, totals) => {
      const { records, loss } = totals.sums.metrics;
      const mean = records === 0 ? 'no records' : `loss ${(loss / records).toFixed(5)}`;
      log.info(`pass ${ended + 1} of ${record.job.training.passes} is over: ${mean}`, {
        records: totals.sums.good,
        bad: totals.sums.bad,
        discarded: totals.discarded,
      });
      info.passEnded(ended, totals);
    },
  });
}

/** After the end nobody waits for it any more. */
const ignoreWhen = (over: AbortSignal, fail: (error: unknown) => void) => (error: unknown) => {
  if (!over.aborted) fail(error);
};

function queueConfig(record: JobRecord, dataset: Dataset) {
  const { tasks, training } = record.job;
  return {
    taskRecords: dataset.taskRecords,
    describeTask: (task: number) => describeTask(dataset, task),
    passes: training.passes,
    seed: training.seed,
    ...tasks,
  };
}

/** Data that cannot be read fails the job as such; anything else as a task that cannot be done. */
function jobFailure(discarded: DiscardedTask, record: JobRecord): PaddletError {
  const { task, where, error, code, trainer } = discarded;
  const { maxDiscarded, maxFailures } = record.job.tasks;
  const isData = code.startsWith('Data') || code === 'TooManyBadRecords';
  return new PaddletError(
    isData && isErrorCode(code) ? code : 'TaskDiscarded',
    `task ${task} (${where}) failed more than ${maxFailures} times, last on trainer ${trainer}: ${error}`,
    { hint: `tasks.maxDiscarded is ${maxDiscarded}: raise it to go on without such tasks` },
  );
}

/** The test file by the final model, dealt to the trainers. A new master begins it anew: nothing of it is saved. */
async function evaluate(
  work: Work,
  state: MasterState,
  desks: TaskDesk[],
  known: () => void,
): Promise<Metrics | undefined> {
  const { context, record, data, over, fail, model } = work;
  if (data.test === undefined) {
    known();
    return undefined;
  }
  work.info.enters('evaluating');
  const results = createEvaluationResults(model.task, data.test.tasks.length);
  const ended = Promise.withResolvers<void>();
  const desk = createTaskDesk({
    context,
    name: 'evaluation',
    queue: createTaskQueue(
      { ...queueConfig(record, data.test), passes: 1, maxDiscarded: 0 },
      undefined,
      context.host.clock.monotonicMs(),
    ),
    pipeline: undefined,
    onEnded: ended.resolve,
    onFailed: (discarded) => fail(jobFailure(discarded, record)),
    onDiscarded: () => {},
    onPassEnded: () => {},
  });
  desks.push(desk);
  desk.tell({ type: 'roster', trainers: [...state.trainers.addresses.keys()] });
  state.evaluate = { desk, dataset: data.test, results };
  known();
  await orAborted(ended.promise, over);
  return results.finish();
}

async function publishResult({ context, fence }: DirectOptions, result: JobResult): Promise<void> {
  await patiently(context, () =>
    fencedTxn(context.store, fence, {
      if: [{ key: context.keys.result, createRevision: 0n }],
      then: [{ put: context.keys.result, value: JSON.stringify(result) }],
    }),
  );
}
