/** One master's work between taking the lock and the job's end: opens what it needs, and follows the trainers. */
import { assert } from '../../base/assert.ts';
import type { Cancel } from '../../base/seams.ts';
import { createPserverGroup } from '../../cluster/client/pserver-group.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import { groupingOf } from '../../cluster/job/job-plan.ts';
import { followPlacement } from '../../cluster/placement/placement-view.ts';
import { createSignal, interrupted, type Signal } from '../../cluster/waiting.ts';
import { endOf } from '../../core/evaluation-points.ts';
import { type Evaluations, openEvaluations } from './best/evaluations.ts';
import { keepClusterStatus } from './cluster-status.ts';
import { Failures } from './failures.ts';
import { finishJob } from './finish-job.ts';
import { runHooks } from './hooks.ts';
import type { DirectOptions, JobWork } from './job-work.ts';
import { removeLeftovers } from './leftovers.ts';
import { measureModel } from './model-size.ts';
import { type LaneTraining, openLaneTraining } from './rounds/training.ts';
import { openSaves, type Saves } from './saves.ts';
import { type MasterState, tellAll } from './state.ts';
import { TableSamples } from './table-samples.ts';
import { saveEach } from './tasks/save-each.ts';
import { openTaskTraining, type TaskTraining } from './tasks/training.ts';
import { followTrainers } from './trainers.ts';
import type { EndedPass, TrainerEvent, Training, TrainingOptions } from './training.ts';

/** Returns when the result is in the store. Throws `Interrupted` when stopped before, and errors that fail the job. */
export async function directJob(options: DirectOptions): Promise<void> {
  const { context, record } = options;
  /** Aborted with the error that ends this master's work. */
  const crash = new AbortController();
  const onFatal = (error: unknown): void => crash.abort(error);
  const stopSignal = AbortSignal.any([options.stopSignal, crash.signal]);
  const view = followPlacement(context, groupingOf(record), onFatal);
  const group = createPserverGroup(context, record, view, { masterSecret: options.secret });
  const cancelStatus = keepClusterStatus(context, { fence: options.fence, view, wanted: record.job.cluster, onFatal });
  const cancels: Cancel[] = [];
  options.info.countsPservers(() => {
    const wanted = view.desired();
    return wanted === undefined ? undefined : { wanted, live: view.liveIndexes().length };
  });
  try {
    const model = modelOf(record, context);
    const work: JobWork = { ...options, stopSignal, group, view, onFatal, model, changed: createSignal() };
    options.info.waits('the commands before the first pass');
    await runHooks({ ...work, ...work.hooks }, 'before');
    const state = await openState(work, cancels);
    options.show(state);
    await finishJob(work, state);
  } catch (error) {
    // What was waited for was given up because of this.
    if (crash.signal.aborted) throw crash.signal.reason;
    throw error;
  } finally {
    // What was started beside this ends, too.
    crash.abort(interrupted());
    cancelStatus();
    for (const cancel of cancels.reverse()) cancel();
    group.close();
    view.cancel();
  }
}

/** Training, saves and trainers; what ends them is added to `cancels`. */
async function openState(work: JobWork, cancels: Cancel[]): Promise<MasterState> {
  const { context, record, lease, changed, onFatal } = work;
  let saves: Saves | undefined;
  const evaluations = await openEvaluationsOf(work);
  const shown: { state?: MasterState; training?: Training } = {};
  const samples = new TableSamples(work, () => shown.training);
  const training = await openTraining(
    work,
    evaluations,
    (passes) => {
      saves?.passesEnded(passes);
      samples.passesEnded(passes);
    },
    () => saves?.isWanted() === true,
  );
  shown.training = training;
  cancels.push(training.close);
  cancels.push(removeLeftovers({ ...work, folder: work.checkpointFolder, save: saverOf(work, training) }));
  saves = await openSavesOf(work, training);
  if (saves !== undefined) cancels.push(saves.cancel);
  // Reports passes that ended while the saves were being opened.
  saves?.passesEnded(training.passesEnded());
  const tell = (event: TrainerEvent): void => tellAll(shown.state ?? { training, saves, evaluation: undefined }, event);
  const trainers = followTrainers(context, record, {
    onRoster: (list) => tell({ type: 'roster', trainers: list }),
    onJoined: (trainer) => tell({ type: 'joined', trainer }),
    onGone: (trainer) => tell({ type: 'gone', trainer }),
    onFatal,
  });
  cancels.push(trainers.cancel);
  lease.onResume(() => tell({ type: 'resumed' }));
  shown.state = {
    record,
    trainers,
    failures: new Failures(context.host.clock),
    training,
    samples,
    saves,
    evaluations,
    evaluation: undefined,
    isFinished: false,
    changed,
    isHeld: lease.isHeld,
    clock: context.host.clock,
  };
  return shown.state;
}

/** Has the pservers that are placed now save: each by itself, or all of them one round. */
function saverOf({ group }: JobWork, training: TaskTraining | LaneTraining): (signal: AbortSignal) => Promise<unknown> {
  if (training.mode === 'sync') return (signal) => training.cuts.request(signal);
  return (signal) => group.withPlacement('save', ({ pservers }) => saveEach(group, pservers), signal);
}

async function openTraining(
  work: JobWork,
  evaluations: Evaluations | undefined,
  onPassesEnded: (passes: number) => void,
  isSaveWanted: () => boolean,
): Promise<TaskTraining | LaneTraining> {
  const { context, record, data, info, changed, lease } = work;
  const { passes, mode } = record.job.training;
  const options: TrainingOptions = {
    ...work,
    dataset: data.train,
    until: (length) => evaluations?.point(length) ?? endOf(length),
    isHeld: lease.isHeld,
    onChanged: changed.notify,
    onPassEnded: ({ pass, loss, records, facts }: EndedPass): void => {
      const mean = loss === undefined ? 'no records' : `loss ${loss.toFixed(5)}`;
      context.host.log.info(`pass ${pass + 1} of ${passes} finished: ${mean}`, facts);
      info.passEnded({ pass, loss, records });
    },
    onPassesEnded,
  };
  if (mode === 'async') return openTaskTraining(options);
  return openLaneTraining(options, isSaveWanted);
}

async function openEvaluationsOf({ keeper, record, ...work }: JobWork): Promise<Evaluations | undefined> {
  if (record.job.evaluation === undefined) return undefined;
  assert(keeper !== undefined, 'a master of a job that is evaluated can keep models');
  return openEvaluations({ ...work, record, keeper, rule: record.job.evaluation });
}

/** Undefined for jobs whose model is not written after each pass. */
async function openSavesOf(work: JobWork, training: TaskTraining | LaneTraining): Promise<Saves | undefined> {
  const { context, fence, stopSignal, changed, view, onFatal } = work;
  if (work.record.job.model.saveDir === undefined) return undefined;
  const wake: Signal = {
    ...changed,
    notify() {
      changed.notify();
      training.wake();
    },
  };
  const { training: trainingOf, cluster } = work.record.job;
  const { passes } = trainingOf;
  const { leaseTtlMs } = cluster;
  const ended = training.passesEnded();
  const modelBytes = (): Promise<number> => measureModel(context.network, view);
  return openSaves({ context, fence, passes, ended, leaseTtlMs, stopSignal, changed: wake, modelBytes, onFatal });
}
