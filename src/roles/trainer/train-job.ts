/** A trainer's part in one job: connects to the cluster, registers, and trains until the job ends. */
import { resolve } from 'node:path';
import { isPaddletError } from '../../base/errors.ts';
import type { Log, Thread } from '../../base/seams.ts';
import { createMasterClient, type MasterClient } from '../../cluster/client/master-client.ts';
import { createParameterClient } from '../../cluster/client/parameter-client.ts';
import { createPserverGroup, type PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import { groupingOf } from '../../cluster/job/job-plan.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { JobWatch } from '../../cluster/job/job-watch.ts';
import { followPlacement, type PlacementView } from '../../cluster/placement/placement-view.ts';
import { logWaiting } from '../../cluster/waiting.ts';
import { BadRecordFiles } from '../../data/bad-record-files.ts';
import type { DataPlace } from '../../data/place.ts';
import { ReaderThreads } from '../../data/readers/reader-threads.ts';
import type { ReaderThreadData } from '../../data/readers/thread-messages.ts';
import type { Model } from '../../model/model.ts';
import { elementCount } from '../../tensor/blocks.ts';
import { createIdRouter } from '../../tensor/id-router.ts';
import type { Activity } from './activity.ts';
import { gradientCheckOf } from './compute/gradient-check.ts';
import { createModelSaver, type ModelSaver } from './model/model-saver.ts';
import { saveModel } from './model/save-model.ts';
import { keepRegistered } from './registration.ts';
import { reportProgress } from './report-progress.ts';
import { type RequestTimes, timedClient } from './request-times.ts';
import { runSyncMode } from './rounds/sync-mode.ts';
import { runTasks } from './tasks/loop.ts';
import type { TaskLoopOptions } from './tasks/loop-options.ts';
import { parsedCacheOf, readerThreadDataOf } from './tasks/task-files.ts';
import { timedRouter } from './timed-router.ts';

/** Threads of the trainer's process besides the one that trains. */
export interface TrainerThreads {
  readonly readers: number;
  /** Bytes of data that the trainer reads in its own thread before it starts others. */
  readonly bytesBeforeStart: number;
  readonly start: (data: ReaderThreadData) => Thread;
}

export interface TrainJobOptions {
  readonly record: JobRecord;
  readonly watch: JobWatch;
  /** The trainer's id. */
  readonly id: string;
  /** Where the trainer listens: the value of its key in the store. */
  readonly address: string;
  readonly activity: Activity;
  readonly times: RequestTimes;
  /** Data folder; undefined: the job's. */
  readonly dataDir: string | undefined;
  readonly cacheDir: string;
  readonly jobDir: string;
  /** Undefined: the thread that trains reads all tasks. */
  readonly threads: TrainerThreads | undefined;
  /** The trainer is registered, and is about to ask these pservers. */
  readonly onReady: (pservers: Pick<PserverGroup, 'answers'>) => void;
}

interface Session extends TrainJobOptions {
  readonly model: Model;
  readonly view: PlacementView;
  readonly group: PserverGroup;
  readonly master: MasterClient;
  readonly onFatal: (error: Error) => void;
  /** Aborts when the job ends, the trainer is to stop, or `onFatal` was called. */
  readonly stopSignal: AbortSignal;
}

/** Returns when the job has ended; throws `Interrupted` when it was stopped before, and the error of `onFatal`. */
export async function trainJob(context: RoleContext, options: TrainJobOptions): Promise<void> {
  const { record, watch } = options;
  const { log, clock } = context.host;
  const { leaseTtlMs } = record.job.cluster;
  const fatal = new AbortController();
  const stopSignal = AbortSignal.any([watch.stopSignal, fatal.signal]);
  const onFatal = (error: Error): void => fatal.abort(error);
  const model = modelOf(record, context);
  const view = followPlacement(context, groupingOf(record), onFatal);
  const group = createPserverGroup(context, record, view, { isBuffered: mayBeBuffered(record, model) });
  const master = createMasterClient(context, onFatal);
  let unregister: (() => Promise<void>) | undefined;
  try {
    const stopLogging = logWaiting(clock, log, () => view.missing());
    await view.changed.until(() => view.current(), stopSignal).finally(stopLogging);
    unregister = await keepRegistered(context, { ...options, ttlMs: leaseTtlMs, onFatal });
    options.onReady(group);
    await work(context, { ...options, model, view, group, master, onFatal, stopSignal });
  } catch (error) {
    if (fatal.signal.aborted && isPaddletError(error, 'Interrupted')) throw fatal.signal.reason;
    throw error;
  } finally {
    view.cancel();
    group.close();
    master.close();
    await unregister?.();
  }
}

/** Limits of the dense bytes per pserver and mini-batch for which TCP's buffers help: they hold these bytes. */
const BUFFERED_BYTES = { least: 256 * 1024, most: 4 * 1024 * 1024 };

/**
 * A trainer that computes for milliseconds cannot empty a Unix socket then. In sync mode it waits for all anyway.
 */
function mayBeBuffered({ job: { training, cluster } }: JobRecord, { parameters }: Model): boolean {
  const bytes = parameters.dense.reduce((sum, dense) => sum + 4 * elementCount(dense), 0) / cluster.pservers;
  return training.mode === 'async' && bytes >= BUFFERED_BYTES.least && bytes <= BUFFERED_BYTES.most;
}

async function work(context: RoleContext, session: Session): Promise<void> {
  const { record, watch, view, group, stopSignal, onFatal } = session;
  const reports = reportProgress(context, session);
  const saver = createSaver(context, session);
  const options = taskLoopOptions(context, session, { report: reports.send, onSaveWanted: saver.wanted });
  try {
    const isDraining = (): boolean => watch.end() === undefined && (context.stop.aborted || watch.stopRequested());
    if (record.job.training.mode === 'sync') await runSyncMode({ ...options, group, isDraining, onFatal });
    else await runTasks(options);
    // The job needs no more work: the master is about to publish its result.
    await view.changed.until(() => (watch.end() === undefined ? undefined : true), stopSignal);
  } finally {
    reports.cancel();
    await options.threads?.close();
    if (stopSignal.aborted) await saver.settled();
  }
}

function createSaver(context: RoleContext, session: Session): ModelSaver {
  const { record, model, group } = session;
  return createModelSaver({
    ...session,
    context,
    save: (pass, confirm, signal) => {
      const folder = resolve(record.dataDir, record.job.model.saveDir ?? '.');
      return saveModel({ ...context.host, group, record, spec: model.parameters, folder, pass, confirm, signal });
    },
  });
}

function taskLoopOptions(
  context: RoleContext,
  session: Session,
  callbacks: Pick<TaskLoopOptions, 'report' | 'onSaveWanted'>,
): TaskLoopOptions {
  const { record, model, group, watch, times, activity } = session;
  const { shards } = record.job.cluster;
  const router = timedRouter(createIdRouter({ shards }), activity.times);
  const gated = record.job.training.staleness?.policy === 'wait';
  const place = {
    host: context.host,
    folder: session.dataDir ?? record.dataDir,
    cacheFolder: session.cacheDir,
    corruptChunks: record.job.data.corruptChunks,
  };
  const client = createParameterClient({ spec: model.parameters, shards, group, router, gated, memory: model.memory });
  return {
    ...session,
    ...callbacks,
    context,
    client: timedClient(client, context.host.clock, times),
    router,
    place,
    cache: parsedCacheOf(place, record.job),
    threads: readerThreadsOf(session, place, context.host.log),
    gradientCheck: gradientCheckOf(record.job, model, context.host.log, activity.sawBadGradient),
    badRecords: new BadRecordFiles(context.host, session.jobDir, record.id),
    isEnded: () => watch.end() !== undefined,
  };
}

function readerThreadsOf({ threads, record, model }: Session, place: DataPlace, log: Log): ReaderThreads | undefined {
  if (threads === undefined || threads.readers === 0) return undefined;
  const data = readerThreadDataOf(place, record, model);
  const { readers: count, bytesBeforeStart, start } = threads;
  return data && new ReaderThreads({ count, bytesBeforeStart, start: () => start(data), log });
}
