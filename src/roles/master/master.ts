/**
 * The master (seeds/distributed-training.en.md, "Master Process"): takes the lock, publishes the job or finds it, hands
 * out tasks until the passes are over, has the test file evaluated, and publishes the result.
 */
import { CODES, isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Shell } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import {
  failJob,
  type JobEnd,
  type JobWatch,
  parseJobEnd,
  readStopRevision,
  watchJob,
} from '../../cluster/job/job-watch.ts';
import type { StartCommand } from '../../cluster/job/start-command.ts';
import { listen, type Page } from '../../cluster/listen.ts';
import { type HeldLease, holdLease, lossOf, retryStore } from '../../cluster/ownership.ts';
import type { DataPlace } from '../../data/place.ts';
import type { RequestedJob } from '../../job/schema.ts';
import { settledAs } from '../../job/settle-records.ts';
import { isPeerOfOtherVersion } from '../../protocol/websocket/version.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { KeptJob, ModelKeeper } from './best/model-keeper.ts';
import { directJob } from './direct-job.ts';
import { type IndexedJob, indexJob } from './index-job.ts';
import { createMasterInfo, type MasterInfoSource } from './info.ts';
import { type LockClaim, takeLock } from './lock.ts';
import { type PublishedJob, type PublishOptions, publishJob } from './publish-job.ts';
import { createHandler } from './serve.ts';
import { type Standing, standingOfMaster } from './standing.ts';
import type { MasterState } from './state.ts';

export interface MasterOptions {
  readonly job: RequestedJob;
  readonly dataDir: string;
  readonly cacheDir: string;
  /** Where checkpoints are when the job does not say. */
  readonly checkpointDir: string;
  /** What resumes the job, for its status. */
  readonly command?: StartCommand;
  /** Runs the commands of a job that has any. */
  readonly shell?: Shell;
  /** Keeps the models of a job that is evaluated while it trains. */
  readonly keeperOf?: (job: KeptJob) => ModelKeeper;
  /** Shows the job to browsers, whichever master directs it. */
  readonly pageOf?: () => Page;
}

/** The job's end; undefined when this process, or the job, was asked to stop before. */
export async function runMaster(context: RoleContext, options: MasterOptions): Promise<JobEnd | undefined> {
  const { log, clock } = context.host;
  let state: MasterState | undefined;
  const info = createMasterInfo(context, options.job, () => state);
  const page = options.pageOf?.();
  const { server, address } = await listen(
    context,
    createHandler(() => state, info.describe),
    () => (state === undefined ? { ready: false, reason: `waiting for ${info.waitingFor()}` } : { ready: true }),
    { page },
  );
  log.info(`master at ${address}`);
  let lease: HeldLease | undefined;
  let watch: JobWatch | undefined;
  try {
    const oldStop = await readStopRevision(context);
    lease = await holdLease(context, options.job.cluster.leaseTtlMs);
    const holder = { host: context.hostName, pid: context.pid, address, since: clock.wallSeconds() };
    const show = (next: MasterState | undefined): void => {
      state = next;
    };
    const secret = context.host.random.uuid();
    for (;;) {
      const before = await standingOfMaster(context, options.job);
      if (before.kind === 'ended') return before.end;
      watch?.cancel();
      watch = watchJob(context, { oldStop, oldResult: before.resultRevision });
      info.waits('the master lock');
      const fence = await standBy(context, { lease, holder, secret, watch, oldStop });
      if (fence === 'stopped') return undefined;
      if (fence === 'ended') continue;
      failPoint('master.locked');
      const standing = await standingOfMaster(context, options.job);
      if (standing.kind === 'ended') return standing.end;
      // The job ended in the meantime, with fewer passes: the watch must not take that for the end of this one.
      if (standing.resultRevision !== before.resultRevision) continue;
      return await act(context, options, { lease, fence, secret, address, info, watch, oldStop, show, standing });
    }
  } catch (error) {
    if (lease?.lost.aborted === true) throw lossOf(lease);
    if (!isPaddletError(error, 'Interrupted')) throw error;
    // The store can no longer be followed.
    if (watch?.stopSignal.reason instanceof PaddletError) throw watch.stopSignal.reason;
    return undefined;
  } finally {
    watch?.cancel();
    await lease?.release();
    await page?.close();
    await server.close();
  }
}

interface Standby extends LockClaim {
  readonly watch: JobWatch;
  /** Revision of the request to stop that a starting master found: starting it means that the job is to go on. */
  readonly oldStop: bigint;
}

/** The lock; or that the job ended, or was asked to stop, while another master had it. */
async function standBy(
  context: RoleContext,
  { watch, oldStop, ...claim }: Standby,
): Promise<Fence | 'ended' | 'stopped'> {
  try {
    const fence = await takeLock(context, claim, watch.stopSignal);
    // The master that was asked to stop gave the lock back: another one is not to continue the job.
    const stop = await readStopRevision(context);
    return stop === 0n || stop === oldStop ? fence : 'stopped';
  } catch (error) {
    if (claim.lease.lost.aborted || !isPaddletError(error, 'Interrupted')) throw error;
    if (watch.stopSignal.reason instanceof PaddletError) throw watch.stopSignal.reason;
    return watch.end() === undefined ? 'stopped' : 'ended';
  }
}

interface Acting extends Pick<Standby, 'lease' | 'secret' | 'watch' | 'oldStop'> {
  readonly fence: Fence;
  readonly address: string;
  readonly info: MasterInfoSource;
  readonly show: (state: MasterState | undefined) => void;
  readonly standing: Exclude<Standing, { readonly kind: 'ended' }>;
}

async function act(context: RoleContext, options: MasterOptions, acting: Acting): Promise<JobEnd | undefined> {
  const { lease, fence, secret, address, info, watch, oldStop, standing } = acting;
  const { job, dataDir, cacheDir } = options;
  const place: DataPlace = {
    host: context.host,
    folder: dataDir,
    cacheFolder: cacheDir,
    corruptChunks: job.data.corruptChunks,
  };
  const stopSignal = AbortSignal.any([watch.stopSignal, lease.lost]);
  info.waits('the data to be indexed');
  const known = standing.kind === 'new' ? job : settledAs(standing.record.job, job);
  const loadData = (): Promise<IndexedJob> => indexJob(place, known);
  const publish = { context, fence, dataDir, loadData, standing, stopSignal };
  const published = await publishUnlessEnded(publish, watch);
  if (published === undefined || watch.stopRequested()) return watch.end();
  const { record, data } = published;
  const { keys, store } = context;
  const register = { put: keys.masterAddr, value: address, leaseId: lease.leaseId };
  const { command } = options;
  const noteCommand = command === undefined ? [] : [{ put: keys.command, value: JSON.stringify(command) }];
  await retryStore(context, () => fencedTxn(store, fence, { then: [register, ...noteCommand] }));
  if (oldStop !== 0n) {
    // A later request stays: the watch tells of it.
    const forget = { if: [{ key: keys.stop, modRevision: oldStop }], then: [{ delete: keys.stop }] };
    await retryStore(context, () => fencedTxn(store, fence, forget));
  }
  try {
    const hooks = { shell: options.shell, folder: dataDir };
    const checkpointFolder = record.job.checkpoint.dir ?? options.checkpointDir;
    const keeper = options.keeperOf?.({ context, fence, record, checkpointFolder });
    const direct = { context, record, data, place, checkpointFolder, fence, secret, lease, stopSignal, info, hooks };
    await directJob({ ...direct, keeper, show: acting.show });
  } catch (error) {
    if (watch.end() === undefined && isPaddletError(error) && endsJob(error)) {
      await failJob(context, fence, 'master', error);
      return { failure: error };
    }
    if (watch.end() === undefined) throw error;
  } finally {
    acting.show(undefined);
  }
  const end = watch.end();
  if (end !== undefined) return end;
  const there = await retryStore(context, () => context.store.get(context.keys.result));
  return there === undefined ? undefined : parseJobEnd(there.key, there.value);
}

/** Undefined when the job has ended: another master took the lock and ended it while this one slept. */
async function publishUnlessEnded(options: PublishOptions, watch: JobWatch): Promise<PublishedJob | undefined> {
  try {
    return await publishJob(options);
  } catch (error) {
    if (watch.end() === undefined || !isPaddletError(error, 'Interrupted')) throw error;
    return undefined;
  }
}

/** Errors that another master would hit too. */
function endsJob(error: PaddletError): boolean {
  if (error.code === 'Interrupted' || error.code === 'LeaseGone' || error.code.startsWith('Store')) return false;
  // Its address may be that of a dead process, whose port another one has.
  if (isPeerOfOtherVersion(error)) return false;
  return CODES[error.code].action === 'fatal';
}
