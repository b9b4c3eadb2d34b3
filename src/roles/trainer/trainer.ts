/**
 * The trainer (seeds/distributed-training.en.md, "Trainer Process"): waits for the job and the pservers, registers
 * under a lease, then processes what the master deals to it until the job ends. It listens for `info` requests and
 * /metrics only: neither the master nor a pserver connects to it.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext, RoleEnd } from '../../cluster/context.ts';
import { type JobWatch, watchJob } from '../../cluster/job/job-watch.ts';
import { waitForJob } from '../../cluster/job/wait-for-job.ts';
import { listen } from '../../cluster/listen.ts';
import type { RequestHandler } from '../../protocol/messages/channel.ts';
import type { TrainerInfo } from '../../view/info.ts';
import { processInfo } from '../../view/process-info.ts';
import { createActivity } from './activity.ts';
import { registerTrainerMetrics } from './metrics.ts';
import { type TrainerThreads, trainJob } from './train-job.ts';

export interface TrainerOptions {
  /** Data folder; undefined: the job's. */
  readonly dataDir: string | undefined;
  readonly cacheDir: string;
  /** Folder of the job, for what is found in its data. */
  readonly jobDir: string;
  /** Undefined: the thread that trains reads all tasks. */
  readonly threads?: TrainerThreads | undefined;
}

export async function runTrainer(context: RoleContext, options: TrainerOptions): Promise<RoleEnd> {
  const { log, clock, random } = context.host;
  const id = random.uuid();
  context.identify?.({ id });
  const activity = createActivity(clock);
  const times = registerTrainerMetrics(context.registry, activity, log);
  let waitingFor: string | undefined = 'the job';
  let pservers: Pick<PserverGroup, 'answers'> | undefined;
  const info = (): TrainerInfo => {
    const self = { role: 'trainer' as const, id, ...processInfo(context) };
    if (waitingFor !== undefined) return { ...self, state: 'waiting', waitingFor };
    const spent = { spentMs: activity.spentMs(), changeoverMs: activity.changeoverMs() };
    const now = { phaseMs: Math.round(activity.phaseMs()), pserverAnswers: pservers?.answers() ?? [] };
    return { ...self, state: 'working', ...activity.report(), ...now, ...spent };
  };
  const { server, address } = await listen(context, createHandler(info), () =>
    waitingFor === undefined ? { ready: true } : { ready: false, reason: `waiting for ${waitingFor}` },
  );
  log.info(`trainer ${id} at ${address}`);
  try {
    const record = await waitForJob(context);
    const watch = watchJob(context, { record });
    try {
      await watch.known;
      waitingFor = 'the pservers';
      const onReady = (group: Pick<PserverGroup, 'answers'>): void => {
        pservers = group;
        waitingFor = undefined;
      };
      await trainJob(context, { threads: undefined, ...options, record, watch, id, address, activity, times, onReady });
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

/** How the trainer ends after its work. Throws the reason of a failed job. */
function ended(watch: JobWatch): RoleEnd {
  const end = watch.end();
  if (end !== undefined) {
    if ('failure' in end) throw end.failure;
    return 'finished';
  }
  if (watch.stopSignal.reason instanceof PaddletError) throw watch.stopSignal.reason;
  return 'stopped';
}

function createHandler(info: () => TrainerInfo): RequestHandler {
  return ({ header }) => {
    if (header.type === 'info') return { header: { type: 'info', info: info() } };
    throw new PaddletError('WrongRole', `a trainer does not handle '${header.type}' requests`);
  };
}
