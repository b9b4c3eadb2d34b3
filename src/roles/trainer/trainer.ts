/**
 * The trainer (seeds/distributed-training.en.md, "Trainer Process"): waits for the pservers, registers under a lease,
 * then works the tasks that the master deals until there are no more.
 */
import { resolve } from 'node:path';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { createMasterClient } from '../../cluster/client/master-client.ts';
import { createParameterClient } from '../../cluster/client/parameter-client.ts';
import { createPserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext, RoleEnd } from '../../cluster/context.ts';
import { type JobRecord, modelOf } from '../../cluster/job/job-record.ts';
import { type JobWatch, watchJob } from '../../cluster/job/job-watch.ts';
import { waitForJob } from '../../cluster/job/wait-for-job.ts';
import { listen } from '../../cluster/listen.ts';
import { followPlacement } from '../../cluster/placement/placement-view.ts';
import { logWaiting } from '../../cluster/waiting.ts';
import type { DataPlace } from '../../data/place.ts';
import type { RequestHandler } from '../../protocol/messages/channel.ts';
import { createIdRouter } from '../../tensor/id-router.ts';
import { type Activity, createActivity } from './activity.ts';
import { registerTrainerMetrics } from './metrics.ts';
import { createModelSaver } from './model/model-saver.ts';
import { saveModel } from './model/save-model.ts';
import { keepRegistered } from './registration.ts';
import { reportProgress } from './report-progress.ts';
import { runSyncMode } from './rounds/sync-mode.ts';
import { runTasks, type TaskLoopOptions } from './tasks/loop.ts';

export interface TrainerOptions {
  /** Data folder, when it is not the job's. */
  readonly dataDir: string | undefined;
  readonly cacheDir: string;
}

export async function runTrainer(context: RoleContext, options: TrainerOptions): Promise<RoleEnd> {
  const { log, clock, random } = context.host;
  const id = random.uuid();
  const activity = createActivity(clock);
  registerTrainerMetrics(context.registry, activity);
  let waitingFor: string | undefined = 'the job';
  const info = (): Record<string, unknown> => ({
    role: 'trainer',
    id,
    pid: context.pid,
    host: context.hostName,
    version: context.version,
    ...activity.report(),
    spentMs: activity.spentMs(),
    ...(waitingFor === undefined ? {} : { waitingFor }),
  });
  const { server, address } = await listen(context, createHandler(info), () =>
    waitingFor === undefined ? { ready: true } : { ready: false, reason: `waiting for ${waitingFor}` },
  );
  log.info(`trainer ${id} at ${address}`);
  try {
    const record = await waitForJob(context);
    const watch = watchJob(context);
    try {
      await watch.known;
      waitingFor = 'the pservers';
      await serveJob(context, { record, watch, id, address, activity, options, ready: () => (waitingFor = undefined) });
      return ended(watch);
    } catch (error) {
      if (!isPaddletError(error, 'Interrupted')) throw error;
      return ended(watch);
    } finally {
      watch.cancel();
    }
  } finally {
    await server.close();
  }
}

/** How the trainer ends once its work has. A failed job's reason is thrown. */
function ended(watch: JobWatch): RoleEnd {
  const end = watch.end();
  if (end !== undefined) {
    if ('failure' in end) throw end.failure;
    return 'finished';
  }
  if (watch.over.reason instanceof PaddletError) throw watch.over.reason;
  return 'stopped';
}

function createHandler(info: () => Record<string, unknown>): RequestHandler {
  return ({ header }) => {
    if (header.type === 'info') return { header: { type: 'info', info: info() } };
    throw new PaddletError('WrongRole', `a trainer does not answer '${header.type}'`);
  };
}

interface Service {
  readonly record: JobRecord;
  readonly watch: JobWatch;
  readonly id: string;
  readonly address: string;
  readonly activity: Activity;
  readonly options: TrainerOptions;
  readonly ready: () => void;
}

async function serveJob(context: RoleContext, service: Service): Promise<void> {
  const { record, watch, id, activity } = service;
  const { log, clock } = context.host;
  const { over } = watch;
  const model = modelOf(record, context);
  const { shards, pservers } = record.job.cluster;
  const crash = new AbortController();
  const either = AbortSignal.any([over, crash.signal]);
  const onEnd = (error: Error): void => crash.abort(error);
  const view = followPlacement(context, { shards, pservers }, onEnd);
  const group = createPserverGroup(context, record, view);
  const master = createMasterClient(context, onEnd);
  let leave: (() => Promise<void>) | undefined;
  try {
    const quiet = logWaiting(clock, log, () => view.missing());
    await view.changed.until(() => view.current(), either).finally(quiet);
    leave = await keepRegistered(context, {
      id,
      address: service.address,
      ttlMs: record.job.cluster.leaseTtlMs,
      onEnd,
    });
    service.ready();
    const router = createIdRouter({ shards });
    const client = createParameterClient({
      spec: model.parameters,
      shards,
      group,
      router,
      gated: record.job.training.staleness?.policy === 'wait',
    });
    const place: DataPlace = {
      host: context.host,
      folder: service.options.dataDir ?? record.dataDir,
      cacheFolder: service.options.cacheDir,
    };
    const reports = reportProgress(context, { record, id, master, activity });
    const report = reports.send;
    const { saveDir } = record.job.model;
    const saver = createModelSaver({
      context,
      record,
      id,
      master,
      over: either,
      onEnd: (error) => crash.abort(error),
      save: (pass, confirm, signal) => {
        const folder = resolve(record.dataDir, saveDir ?? '.');
        return saveModel({ ...context.host, group, record, spec: model.parameters, folder, pass, confirm, signal });
      },
    });
    try {
      const work: TaskLoopOptions = {
        context,
        record,
        id,
        model,
        place,
        master,
        client,
        router,
        activity,
        report,
        onSaveWanted: saver.wanted,
        over: either,
        isEnded: () => watch.end() !== undefined,
      };
      const isDraining = (): boolean => watch.end() === undefined && (context.stop.aborted || watch.stopRequested());
      if (record.job.training.mode === 'sync') await runSyncMode({ ...work, group, isDraining, onEnd });
      else await runTasks(work);
      // The job needs no more work; its result is about to be published.
      await view.changed.until(() => (watch.end() === undefined ? undefined : true), either);
    } finally {
      reports.cancel();
      if (either.aborted) await saver.settled();
    }
  } catch (error) {
    if (crash.signal.aborted && isPaddletError(error, 'Interrupted')) throw crash.signal.reason;
    throw error;
  } finally {
    view.cancel();
    group.close();
    master.close();
    await leave?.();
  }
}
