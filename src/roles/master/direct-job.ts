/** One master's work between taking the lock and the job's end: training, evaluation, conclusion. */
import * as z from 'zod';
import { assert } from '../../base/assert.ts';
import { isErrorCode, isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Cancel } from '../../base/seams.ts';
import { createTaskQueue } from '../../core/task-queue.ts';
import { type DiscardedTask, parseStoreValue } from '../../core/task-state.ts';
import type { Model } from '../../model/model.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { RoleContext } from '../context.ts';
import { type JobRecord, modelOf } from '../job-record.ts';
import type { JobResult, Metrics } from '../job-result.ts';
import { type HeldLease, patiently } from '../ownership.ts';
import { followPlacement } from '../placement-view.ts';
import { createPserverGroup, type PserverGroup } from '../pserver-group.ts';
import { followRecovery, type Recovery, type RecoveryView } from '../recovery.ts';
import { createSignal, orAborted, type Signal } from '../waiting.ts';
import { keepClusterStatus } from './cluster-status.ts';
import { closeDiscarded, conclude } from './conclude.ts';
import { type Dataset, describeTask, type JobData } from './dataset.ts';
import { createEvaluationResults } from './evaluation.ts';
import { type HookOptions, resultEnv, runHooks } from './hooks.ts';
import type { MasterInfo } from './info.ts';
import { loadQueue } from './queue-store.ts';
import { type Repairs, startRepairs } from './repairs.ts';
import { createSavePipeline } from './save-pipeline.ts';
import { openSaves, type Saves } from './saves.ts';
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
  readonly hooks: Pick<HookOptions, 'shell' | 'folder'>;
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
  const cancels: Cancel[] = [];
  let trainers: LiveTrainers | undefined;
  const cancelStatus = keepClusterStatus(context, {
    fence: options.fence,
    view,
    pservers: record.job.cluster.pservers,
    onEnd: fail,
  });
  try {
    const work: Work = {
      ...options,
      over: either,
      group,
      fail,
      model: modelOf(record, context),
      changed: createSignal(),
    };
    options.info.waits('the commands before the first pass');
    await runHooks({ ...work, ...work.hooks }, 'before');
    let saves: Saves | undefined;
    const desk = await openTraining(work, (passes) => saves?.passesEnded(passes));
    desks.push(desk);
    saves = await openSavesOf(work, desk);
    if (saves !== undefined) cancels.push(saves.cancel);
    const recoveries = followRecovery(context, fail);
    cancels.push(recoveries.cancel);
    await recoveries.changed.until(() => recoveries.current(), either);
    const reconciled = await readReconciled(context);
    let repairs: Repairs | undefined;
    let state: MasterState | undefined;
    const tellAll = (event: Parameters<TaskDesk['tell']>[0]): void => {
      for (const one of [desk, repairs?.round()?.desk, state?.evaluate?.desk]) one?.tell(event);
    };
    trainers = followTrainers(context, {
      onRoster: (list) => tellAll({ type: 'roster', trainers: list }),
      onJoined: (trainer) => tellAll({ type: 'joined', trainer }),
      onGone: (trainer) => tellAll({ type: 'gone', trainer }),
      onEnd: fail,
    });
    const live = trainers;
    repairs = startRepairs({
      ...work,
      training: desk,
      taskRecords: options.data.train.taskRecords,
      describeTask: (task) => describeTask(options.data.train, task),
      recoveries,
      roster: () => [...live.addresses.keys()],
      reconciled,
      isHeld: lease.isHeld,
      onFailed: (discarded) => fail(jobFailure(discarded, record)),
      onEnd: fail,
      onChanged: work.changed.notify,
    });
    cancels.push(repairs.cancel);
    state = {
      record,
      trainers,
      train: { desk, dataset: options.data.train },
      repairs,
      saves,
      recovery: () => recoveries.current()?.number ?? 0,
      evaluate: undefined,
      isOver: false,
      changed: work.changed,
      isHeld: lease.isHeld,
      clock: context.host.clock,
    };
    lease.onResume(() => tellAll({ type: 'resumed' }));
    options.show(state);
    await finishJob(work, state, recoveries);
  } catch (error) {
    // What was waited for was given up because of this.
    if (crash.signal.aborted) throw crash.signal.reason;
    throw error;
  } finally {
    cancelStatus();
    trainers?.cancel();
    for (const desk of desks) desk.close();
    for (const cancel of cancels) cancel();
    group.close();
    view.cancel();
  }
}

interface Work extends DirectOptions {
  readonly group: PserverGroup;
  readonly model: Model;
  readonly fail: (error: unknown) => void;
  /** Of anything that trainers wait for. */
  readonly changed: Signal;
}

/**
 * Waits until every task is done in every shard, evaluates, and concludes; begins again when a pserver was restored
 * meanwhile, as what it lost is repaired and the model then is another one.
 */
async function finishJob(work: Work, state: MasterState, recoveries: RecoveryView): Promise<void> {
  const { context, over, info } = work;
  const beganMs = context.host.clock.monotonicMs();
  const goodBefore = goodRecords(state);
  for (;;) {
    const recovery = await trained(work, state, recoveries);
    const trainedSeconds = (context.host.clock.monotonicMs() - beganMs) / 1000;
    // Of this master's own time: what was trained before it, it did not measure.
    const recordsPerSecond = Math.round((goodRecords(state) - goodBefore) / Math.max(trainedSeconds, 0.001));
    const isCurrent = (): boolean => recoveries.current()?.number === recovery.number;
    const overtaken = new AbortController();
    const stopWatching = watchRecovery(recoveries, recovery, overtaken, over);
    try {
      const signal = AbortSignal.any([over, overtaken.signal]);
      const testMetrics = await evaluate({ ...work, over: signal }, state);
      info.enters('concluding');
      await work.changed.until(() => (isModelSaved(work, state) ? true : undefined), signal);
      const result = await conclude({
        ...work,
        over: signal,
        desk: state.train.desk,
        testMetrics,
        recordsPerSecond,
        recovery: recovery.number,
      });
      await runHooks({ ...work, ...work.hooks }, 'after', resultEnv(result));
      failPoint('result.publishing');
      if (await publishResult(work, result, recovery)) {
        state.isOver = true;
        state.changed.notify();
        return;
      }
    } catch (error) {
      if (over.aborted || isCurrent() || !isPaddletError(error, 'Interrupted')) throw error;
    } finally {
      stopWatching();
      state.evaluate?.desk.release();
      state.evaluate?.desk.close();
      state.evaluate = undefined;
      state.changed.notify();
    }
    context.host.log.warn('a pserver was restored while the job was being concluded: repairing first');
    await state.saves?.redo(work.record.job.training.passes);
  }
}

function goodRecords({ train }: MasterState): number {
  const { ended, current } = train.desk.queue.totals();
  return ended.reduce((sum, { sums }) => sum + sums.good, current.good);
}

/** The recovery number under which all tasks are done and closed in every shard. */
async function trained(work: Work, state: MasterState, recoveries: RecoveryView): Promise<Recovery> {
  return work.changed.until(() => {
    const recovery = recoveries.current();
    const { phase } = state.train.desk.queue.counts();
    const isDone = phase === 'ended' && recovery !== undefined && state.repairs.reconciled() >= recovery.number;
    return isDone ? recovery : undefined;
  }, work.over);
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
  const entry = await patiently(context, () => context.store.get(key));
  return entry === undefined ? 0 : parseStoreValue(z.int().min(0), key, entry.value);
}

/** Undefined for jobs whose model nobody wants after each pass. */
async function openSavesOf(work: Work, desk: TaskDesk): Promise<Saves | undefined> {
  const { context, fence, over, changed, fail } = work;
  if (work.record.job.model.saveDir === undefined) return undefined;
  const passes = desk.queue.totals().ended.length;
  return openSaves({ context, fence, passes, over, changed, onEnd: fail });
}

const isModelSaved = ({ record }: Work, { saves }: MasterState): boolean =>
  saves === undefined || saves.isSaved(record.job.training.passes);

async function openTraining(work: Work, onPassesEnded: (passes: number) => void): Promise<TaskDesk> {
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
    isHeld: work.lease.isHeld,
    onEnded: () => work.changed.notify(),
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
      onPassesEnded(ended + 1);
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
    minTrainers: record.job.cluster.minTrainers,
    maxTrainers: record.job.cluster.maxTrainers,
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
async function evaluate(work: Work, state: MasterState): Promise<Metrics | undefined> {
  const { context, record, data, over, fail, model } = work;
  if (data.test === undefined) return undefined;
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
    isHeld: work.lease.isHeld,
    onEnded: ended.resolve,
    onFailed: (discarded) => fail(jobFailure(discarded, record)),
    onDiscarded: () => {},
    onPassEnded: () => {},
  });
  desk.tell({ type: 'roster', trainers: [...state.trainers.addresses.keys()] });
  state.evaluate = { desk, dataset: data.test, results };
  state.changed.notify();
  await orAborted(ended.promise, over);
  return results.finish();
}

/** False when a pserver was restored since: the result is not that of the model as it is now. */
async function publishResult(
  { context, fence }: DirectOptions,
  result: JobResult,
  recovery: Recovery,
): Promise<boolean> {
  const { keys, store } = context;
  const value = JSON.stringify(result);
  return patiently(context, async () => {
    const answer = await fencedTxn(store, fence, {
      if: [
        { key: keys.result, createRevision: 0n },
        { key: keys.recovery, modRevision: recovery.modRevision },
      ],
      then: [{ put: keys.result, value }],
      else: [{ get: keys.result }],
    });
    // A try whose outcome was unknown may have landed; or somebody else ended the job.
    return answer.succeeded || answer.results[0] !== undefined;
  });
}
