/**
 * Asks the master for tasks and processes them one at a time, while the next one is read. An error of a task is
 * reported for its attempt; only an error of the whole job, or a stop, ends the loop.
 */

import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import { LONG_POLL_MS, type MasterClient } from '../../../cluster/client/master-client.ts';
import type { ParameterClient } from '../../../cluster/client/parameter-client.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { interrupted, pauseOrAborted } from '../../../cluster/waiting.ts';
import type { TaskAddress } from '../../../core/tasks/address.ts';
import { isDataFault } from '../../../core/tasks/failure.ts';
import { describeBad } from '../../../data/bad-records.ts';
import type { DataPlace } from '../../../data/place.ts';
import { mergeMetrics, noMetrics } from '../../../model/metrics.ts';
import type { Model } from '../../../model/model.ts';
import type { DealtTask } from '../../../protocol/messages/all-messages.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import type { Activity } from '../activity.ts';
import { SAVE_BUSY_MS } from '../model/model-saver.ts';
import type { RequestTimes } from '../request-times.ts';
import { beginReading, failureTexts, type HeldTask } from './dealt-task.ts';
import { evaluateTask } from './evaluate-task.ts';
import { trainTask } from './train-task.ts';

export interface TaskLoopOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly id: string;
  readonly model: Model;
  readonly place: DataPlace;
  readonly master: MasterClient;
  readonly client: ParameterClient;
  readonly router: IdRouter;
  readonly activity: Activity;
  readonly times: RequestTimes;
  /**
   * Reports to the master now, without waiting: if the task crashes this process, the master knows which task it was.
   */
  readonly report: () => void;
  /** The master wants the model to be saved. Returns false when this trainer cannot save it yet. */
  readonly onSaveWanted: () => boolean;
  /** True when the job has ended: tasks need not be returned. */
  readonly isEnded: () => boolean;
  /** Aborts when the trainer is to end. */
  readonly stopSignal: AbortSignal;
}

export async function runTasks(options: TaskLoopOptions): Promise<void> {
  const held: HeldTask[] = [];
  const fetching = new AbortController();
  const fetchSignal = AbortSignal.any([options.stopSignal, fetching.signal]);
  const fetch = async (): Promise<HeldTask | undefined> => {
    const dealt = await nextTask(options, held, fetchSignal);
    if (dealt === undefined) return undefined;
    failPoint('trainer.dealt');
    const task = beginReading(options.place, options.record, options.model, dealt);
    held.push(task);
    return task;
  };
  try {
    let upcoming = quietly(fetch());
    for (;;) {
      const task = await upcoming;
      if (task === undefined) return;
      upcoming = quietly(fetch());
      await work(options, task);
      held.splice(held.indexOf(task), 1);
    }
  } finally {
    fetching.abort();
    await returnTasks(options, held);
  }
}

/** A rejection is handled where the promise is awaited later. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

const addressOf = ({ queue, pass, task, attempt }: DealtTask): TaskAddress => ({ queue, pass, task, attempt });

/** Undefined when the job needs no more work. */
async function nextTask(
  options: TaskLoopOptions,
  held: readonly HeldTask[],
  signal: AbortSignal,
): Promise<DealtTask | undefined> {
  const { master, record, id } = options;
  for (;;) {
    const reply = await master.request(
      {
        header: {
          type: 'getTask',
          ...jobFields(record),
          trainer: id,
          held: held.map(({ dealt }) => addressOf(dealt)),
          maxWaitMs: LONG_POLL_MS,
        },
      },
      { signal },
    );
    reply.free();
    const { state, task, saveModel } = reply.header;
    const isAccepted = saveModel !== true || options.onSaveWanted();
    if (state === 'finished') return undefined;
    if (task !== undefined) return task;
    // While no trainer saves a wanted model, the master answers at once.
    if (!isAccepted) await pauseOrAborted(options.context.host.clock, SAVE_BUSY_MS, signal);
  }
}

async function work(options: TaskLoopOptions, task: HeldTask): Promise<void> {
  const { dealt, records } = task;
  const { activity, context, stopSignal } = options;
  const { log } = context.host;
  const notLive = activity.begin(addressOf(dealt));
  options.report();
  const until = AbortSignal.any([stopSignal, notLive]);
  const before = activity.report().records;
  try {
    activity.enter('read');
    const parsed = await records;
    for (const bad of parsed.bad) log.warn(`bad record: ${describeBad(bad)}`);
    await (dealt.queue === 'evaluate' ? evaluate(options, dealt, parsed, until) : train(options, dealt, parsed, until));
  } catch (error) {
    task.read = activity.report().records - before;
    if (!isPaddletError(error)) throw error;
    // The trainer ends: the error of the task does not matter any more.
    if (stopSignal.aborted) throw interrupted();
    if (notLive.aborted) {
      log.info(
        `task ${dealt.task} of pass ${dealt.pass + 1}: another attempt was first, or the master gave this one up; dropped`,
      );
      await options.master.tell(returned(options, task));
      return;
    }
    if (error.code === 'AttemptNotLive' || error.code === 'PassBefore') {
      log.info(`task ${dealt.task} of pass ${dealt.pass + 1}: ${error.message}; dropped`);
      return;
    }
    await reportFailure(options, task, error);
  } finally {
    activity.end();
  }
}

type Records = Awaited<HeldTask['records']>;

async function train(options: TaskLoopOptions, dealt: DealtTask, records: Records, signal: AbortSignal): Promise<void> {
  const { master, record, id } = options;
  const { batchSize, pushEvery, pullEvery, staleness } = record.job.training;
  const gated = staleness?.policy === 'wait';
  const bad = records.bad.length;
  let read = 0;
  let duplicate = 0;
  let metrics = noMetrics;
  for (let tries = 0; ; tries++) {
    const trained = await trainTask({ ...options, batchSize, pushEvery, pullEvery, gated, signal }, dealt, records);
    read += trained.read;
    duplicate += trained.duplicate;
    metrics = mergeMetrics(metrics, trained.metrics);
    options.activity.enter('wait');
    failPoint('trainer.finishing');
    const { recovery, good } = trained;
    const sums = { recovery, records: records.records, good, bad, read, duplicate, metrics };
    const header = { type: 'finishTask' as const, ...jobFields(record), trainer: id, ...addressOf(dealt), ...sums };
    try {
      (await master.request({ header }, { signal })).free();
      failPoint('trainer.finished');
      return;
    } catch (error) {
      // A pserver was restored in the meantime: ask for the positions again.
      if (!isPaddletError(error, 'StaleRecovery')) throw error;
    }
    await pauseOrAborted(options.context.host.clock, backoffMs(tries), signal);
  }
}

async function evaluate(
  options: TaskLoopOptions,
  dealt: DealtTask,
  records: Records,
  signal: AbortSignal,
): Promise<void> {
  const { master, record, id, model, client } = options;
  options.activity.enter('compute');
  const { metrics, scores, labels } = await evaluateTask(model, client, records, signal);
  options.activity.enter('wait');
  const header = {
    type: 'finishEvaluation' as const,
    ...jobFields(record),
    trainer: id,
    ...addressOf(dealt),
    bad: records.bad.length,
    metrics,
  };
  const segments = [new Uint8Array(scores.buffer), new Uint8Array(labels.buffer)];
  (await master.request({ header, segments }, { signal })).free();
}

async function reportFailure(options: TaskLoopOptions, { dealt, read }: HeldTask, error: PaddletError): Promise<void> {
  const { master, record, id, stopSignal, context } = options;
  context.host.log.error(`task ${dealt.task} of pass ${dealt.pass + 1} failed: ${error.code}: ${error.message}`);
  const header = {
    type: 'failTask' as const,
    ...jobFields(record),
    trainer: id,
    ...addressOf(dealt),
    code: error.code,
    ...failureTexts(error),
    data: isDataFault(error.code),
    read,
  };
  try {
    (await master.request({ header }, { signal: stopSignal })).free();
  } catch (refused) {
    // The attempt has ended: the master does not need the report.
    if (!isPaddletError(refused, 'AttemptNotLive', 'PassBefore')) throw refused;
  }
}

/** On leaving: unfinished tasks go to other trainers at once, before this trainer's lease ends. */
async function returnTasks(options: TaskLoopOptions, held: readonly HeldTask[]): Promise<void> {
  if (options.isEnded()) return;
  await Promise.all(held.map((task) => options.master.tell(returned(options, task))));
}

function returned({ record, id }: TaskLoopOptions, { dealt, read }: HeldTask) {
  return { header: { type: 'returnTask' as const, ...jobFields(record), trainer: id, ...addressOf(dealt), read } };
}
