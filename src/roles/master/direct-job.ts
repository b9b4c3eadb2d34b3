/** One master's work between taking the lock and the job's end: training, evaluation, conclusion. */
import { isPaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Cancel } from '../../base/seams.ts';
import { createPserverGroup, type PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { JobResult, Metrics } from '../../cluster/job/job-result.ts';
import { type HeldLease, retryStore } from '../../cluster/ownership.ts';
import { followPlacement, type PlacementView } from '../../cluster/placement/placement-view.ts';
import { createSignal, orAborted, type Signal } from '../../cluster/waiting.ts';
import { createTaskQueue } from '../../core/tasks/queue.ts';
import type { Model } from '../../model/model.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Compare } from '../../store/store.ts';
import { keepClusterStatus } from './cluster-status.ts';
import type { JobData } from './dataset.ts';
import { createEvaluationResults } from './evaluation.ts';
import { type HookOptions, resultEnv, runHooks } from './hooks.ts';
import type { MasterInfoSource } from './info.ts';
import { type LaneTraining, openLaneTraining } from './rounds/training.ts';
import { openSaves, type Saves } from './saves.ts';
import type { MasterState } from './serve.ts';
import { createTaskService } from './tasks/service.ts';
import { openTaskTraining, queueConfig, type TaskTraining, taskFailure } from './tasks/training.ts';
import { followTrainers, type LiveTrainers } from './trainers.ts';
import type { EndedPass, Trained, TrainerEvent } from './training.ts';

export interface DirectOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly data: JobData;
  readonly fence: Fence;
  readonly lease: HeldLease;
  /** The job ended, was asked to stop, or the lock was lost. */
  readonly over: AbortSignal;
  readonly info: MasterInfoSource;
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
      view,
      fail,
      model: modelOf(record, context),
      changed: createSignal(),
    };
    options.info.waits('the commands before the first pass');
    await runHooks({ ...work, ...work.hooks }, 'before');
    let saves: Saves | undefined;
    const training = await openTraining(work, {
      passesEnded: (passes) => saves?.passesEnded(passes),
      isSaveWanted: () => saves?.isWanted() === true,
    });
    cancels.push(training.close);
    saves = await openSavesOf(work, training);
    // Those that ended while they were being opened.
    saves?.passesEnded(training.passesEnded());
    if (saves !== undefined) cancels.push(saves.cancel);
    const shown: { state?: MasterState } = {};
    const tellAll = (event: TrainerEvent): void => {
      training.tell(event);
      shown.state?.evaluate?.desk.tell(event);
    };
    trainers = followTrainers(context, {
      onRoster: (list) => tellAll({ type: 'roster', trainers: list }),
      onJoined: (trainer) => tellAll({ type: 'joined', trainer }),
      onGone: (trainer) => tellAll({ type: 'gone', trainer }),
      onEnd: fail,
    });
    const state: MasterState = {
      record,
      trainers,
      training,
      saves,
      evaluate: undefined,
      isOver: false,
      changed: work.changed,
      isHeld: lease.isHeld,
      clock: context.host.clock,
    };
    shown.state = state;
    lease.onResume(() => tellAll({ type: 'resumed' }));
    options.show(state);
    await finishJob(work, state);
  } catch (error) {
    // What was waited for was given up because of this.
    if (crash.signal.aborted) throw crash.signal.reason;
    throw error;
  } finally {
    cancelStatus();
    trainers?.cancel();
    for (const cancel of cancels) cancel();
    group.close();
    view.cancel();
  }
}

interface Work extends DirectOptions {
  readonly group: PserverGroup;
  readonly view: PlacementView;
  readonly model: Model;
  readonly fail: (error: unknown) => void;
  /** Of anything that trainers wait for. */
  readonly changed: Signal;
}

interface TrainingHooks {
  readonly passesEnded: (passes: number) => void;
  readonly isSaveWanted: () => boolean;
}

/** Its end is waited for; saves hear of each pass. */
async function openTraining(work: Work, hooks: TrainingHooks): Promise<TaskTraining | LaneTraining> {
  const { context, record, data, info, changed, lease } = work;
  const { passes, mode } = record.job.training;
  const options = {
    ...work,
    dataset: data.train,
    isHeld: lease.isHeld,
    onChanged: changed.notify,
    onPassEnded: ({ pass, loss, records, facts }: EndedPass): void => {
      const mean = loss === undefined ? 'no records' : `loss ${loss.toFixed(5)}`;
      context.host.log.info(`pass ${pass + 1} of ${passes} is over: ${mean}`, facts);
      info.passEnded({ pass, loss, records });
    },
    onPassesEnded: hooks.passesEnded,
  };
  return mode === 'sync' ? openLaneTraining(options, hooks.isSaveWanted) : openTaskTraining(options);
}

/**
 * Waits until the passes are done in every shard, evaluates, and concludes; begins again when a pserver was restored
 * meanwhile, as what it lost is worked again first.
 */
async function finishJob(work: Work, state: MasterState): Promise<void> {
  const { context, over, info } = work;
  const { training } = state;
  const { passes } = work.record.job.training;
  const appliedBefore = await training.applied();
  const beganMs = context.host.clock.monotonicMs();
  for (;;) {
    info.enters('training');
    const trained = await training.trained();
    state.saves?.trained();
    const trainedSeconds = (context.host.clock.monotonicMs() - beganMs) / 1000;
    try {
      const signal = AbortSignal.any([over, trained.overtaken]);
      // Of this master's own time: what was trained before it, it did not measure.
      const applied = Math.max(0, (await orAborted(training.applied(), signal)) - appliedBefore);
      const recordsPerSecond = Math.round(applied / Math.max(trainedSeconds, 0.001));
      const testMetrics = await evaluate({ ...work, over: signal }, state);
      info.enters('concluding');
      await work.changed.until(() => (state.saves?.isSaved(passes) === false ? undefined : true), signal);
      const result = await trained.conclude({ over: signal, testMetrics, recordsPerSecond });
      await runHooks({ ...work, ...work.hooks }, 'after', resultEnv(result));
      failPoint('result.publishing');
      if (await publishResult(work, result, trained.unchanged)) {
        state.isOver = true;
        state.changed.notify();
        return;
      }
    } catch (error) {
      if (over.aborted || !trained.overtaken.aborted || !isPaddletError(error, 'Interrupted')) throw error;
    } finally {
      endEvaluation(state, trained);
    }
    context.host.log.warn(
      'a pserver was restored while the job was being concluded: what it lost is worked again first',
    );
    state.saves?.overtaken();
  }
}

function endEvaluation(state: MasterState, trained: Trained): void {
  trained.release();
  state.evaluate?.desk.release();
  state.evaluate?.desk.close();
  state.evaluate = undefined;
  state.changed.notify();
}

/** Undefined for jobs whose model nobody wants after each pass. */
async function openSavesOf(work: Work, training: TaskTraining | LaneTraining): Promise<Saves | undefined> {
  const { context, fence, over, changed, fail } = work;
  if (work.record.job.model.saveDir === undefined) return undefined;
  const wake: Signal = {
    ...changed,
    notify() {
      changed.notify();
      training.wake();
    },
  };
  const { passes } = work.record.job.training;
  return openSaves({ context, fence, passes, ended: training.passesEnded(), over, changed: wake, onEnd: fail });
}

/** The test file by the final model, dealt to the trainers. A new master begins it anew: nothing of it is saved. */
async function evaluate(work: Work, state: MasterState): Promise<Metrics | undefined> {
  const { context, record, data, over, fail, model } = work;
  if (data.test === undefined) return undefined;
  work.info.enters('evaluating');
  const results = createEvaluationResults(model.task, data.test.tasks.length);
  const ended = Promise.withResolvers<void>();
  const desk = createTaskService({
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
    onFailed: (discarded) => fail(taskFailure(discarded, record)),
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
  unchanged: Compare,
): Promise<boolean> {
  const { keys, store } = context;
  const value = JSON.stringify(result);
  return retryStore(context, async () => {
    const answer = await fencedTxn(store, fence, {
      if: [{ key: keys.result, createRevision: 0n }, unchanged],
      then: [{ put: keys.result, value }],
      else: [{ get: keys.result }],
    });
    // A try whose outcome was unknown may have landed; or somebody else ended the job.
    return answer.succeeded || answer.results[0] !== undefined;
  });
}
