/**
 * The pserver (seeds/distributed-training.en.md, "Parameter Server Process"): claims an index, takes its shards, serves
 * pulls and pushes while its lease is held, and saves the parameters when it stops.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { ReportedLease } from '../../base/seams.ts';
import type { RoleContext, RoleEnd } from '../../cluster/context.ts';
import { trainedSpecOf } from '../../cluster/job/job-model.ts';
import { groupingOf } from '../../cluster/job/job-plan.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { failJob, type JobWatch, watchJob } from '../../cluster/job/job-watch.ts';
import { checkRecord } from '../../cluster/job/record-changes.ts';
import { waitForJob } from '../../cluster/job/wait-for-job.ts';
import { listen } from '../../cluster/listen.ts';
import { type HeldLease, lossOf } from '../../cluster/ownership.ts';
import { type CutView, followCut } from '../../cluster/placement/cut-view.ts';
import { neededOf } from '../../cluster/placement/leave-nothing.ts';
import { followMasterSecret, type MasterSecret } from '../../cluster/placement/master-secret.ts';
import { followPlacement, type PlacementView } from '../../cluster/placement/placement-view.ts';
import type { PlaceLabels } from '../../cluster/placement/pserver-record.ts';
import { followPserverRecords, type PserverRecords } from '../../cluster/placement/pserver-records.ts';
import { followRecovery, type RecoveryView } from '../../cluster/placement/recovery.ts';
import { interrupted } from '../../cluster/waiting.ts';
import { saveIntervalMs } from '../../job/save-interval.ts';
import type { PserverInfo, ShardsInfo } from '../../view/info.ts';
import { processInfo } from '../../view/process-info.ts';
import { claimIndex } from './claim/claim-index.ts';
import { announce, type OwnedIndex } from './claim/owned-index.ts';
import { holdReportedLease } from './claim/reported-lease.ts';
import { FileReads } from './files/file-reads.ts';
import { withPeerStorage } from './files/peer-storage.ts';
import type { ServedFiles } from './files/serve-file.ts';
import type { CopyCounts } from './metrics.ts';
import { type PserverMetrics, type PserverStats, registerPserverMetrics } from './metrics.ts';
import { startRoundService } from './modes/rounds/service.ts';
import { startTaskService } from './modes/tasks/service.ts';
import { landInParameters } from './requests/landing.ts';
import { createHandler, type Handled } from './serve.ts';
import type { ShardService, ShardServiceOptions } from './shard-service.ts';
import { serveUntilStopped } from './stopping.ts';
import { watchOwnOrphans } from './take/orphan-watch.ts';

export interface PserverOptions {
  /** Index to claim. Undefined: the first free one. */
  readonly index: number | undefined;
  /** Checkpoint folder, if the job does not set one. */
  readonly checkpointDir: string;
  readonly labels?: PlaceLabels;
  /** Time limit for handing over units when only this process is stopped. Then it saves the rest. Default: 20 s. */
  readonly leaveLimitMs?: number;
  /** Reports the lease of the index to the parent process. */
  readonly reportLease?: (reported: ReportedLease) => void;
}

const USUAL_LEAVE_LIMIT_MS = 20_000;

export async function runPserver(context: RoleContext, options: PserverOptions): Promise<RoleEnd> {
  const { labels = {}, leaveLimitMs = USUAL_LEAVE_LIMIT_MS } = options;
  let service: ShardService | undefined;
  let files: ReturnType<Handled['files']>;
  let waitingFor = 'the job';
  const started = context.host.clock.wallSeconds();
  const metrics = metricsOf(context, () => ({ service, files }));
  const info = (): PserverInfo => describe(context, service?.info() ?? { state: 'waiting', waitingFor });
  const listening = await listen(
    context,
    createHandler({ serving: () => service?.serving, info, files: () => files }),
    () => (service === undefined ? { ready: false, reason: `waiting for ${waitingFor}` } : { ready: true }),
    { landing: landInParameters(() => service?.serving?.shards.parameters) },
  );
  context.host.log.info(`pserver at ${listening.address}`);
  let lease: HeldLease | undefined;
  let recoveries: RecoveryView | undefined;
  let cuts: CutView | undefined;
  let master: MasterSecret | undefined;
  let view: PlacementView | undefined;
  let records: PserverRecords | undefined;
  const fatal = endedBy(context.endNow);
  const onFatal = (error: unknown): void => fatal.abort(error);
  try {
    const record = await waitForJob(context);
    const watch = watchJob(context, { record });
    try {
      await watch.known;
      waitingFor = 'an index';
      view = followPlacement(context, groupingOf(record), onFatal);
      const placed = await loaded(view, AbortSignal.any([watch.stopSignal, fatal.signal]));
      lease = await holdReportedLease(context, record.job.cluster.leaseTtlMs, options.reportLease);
      const stopSignal = AbortSignal.any([watch.stopSignal, lease.lost, fatal.signal]);
      const claimed = await claimIndex({
        ...{ context, lease, address: listening.address, wanted: options.index },
        ...{ desired: () => placed.desired()!, desiredChanged: placed.changed },
        isNeeded: async (index) => (await neededOf({ context, index })) !== undefined,
        ...{ leaseTtlMs: record.job.cluster.leaseTtlMs, stopSignal: watch.stopSignal },
      });
      // From here on the job cannot change: paddlet changes a job only while no pserver holds an index.
      await checkRecord(context, record);
      failPoint('pserver.claimed');
      waitingFor = 'its shards';
      recoveries = followRecovery(context, onFatal);
      await known(recoveries, stopSignal);
      master = followMasterSecret(context, onFatal);
      const folder = record.job.checkpoint.dir ?? options.checkpointDir;
      files = filesOf(context, { folder, index: claimed.index, job: record });
      const reading = withPeerStorage(context, { ...files, view: placed });
      const owned: OwnedIndex = { ...claimed, context: reading, record, listening, lease, started, labels };
      await announce(owned, 'loading', []);
      cuts = record.job.training.mode === 'sync' ? followCut(context, onFatal) : undefined;
      const onWaiting = (what = 'its shards'): void => {
        waitingFor = what;
      };
      records = followPserverRecords(context, () => placed.changed.notify(), onFatal);
      const orphans = await watchOwnOrphans(owned, { view: placed, records }, stopSignal);
      const followed = { view: placed, records, recoveries, cuts, master, orphans, reads: files.reads };
      service = await startService(owned, { ...followed, folder, metrics, stopSignal, onWaiting, onFatal });
      const serving = { owned, service, watch, view: placed, fatal: fatal.signal, leaveLimitMs, folder };
      return await serveUntilStopped(serving);
    } catch (error) {
      return endOf(error, { watch, lease, fatal: fatal.signal });
    } finally {
      watch.cancel();
    }
  } catch (error) {
    if (isPaddletError(error, 'Interrupted')) return 'stopped';
    throw error;
  } finally {
    recoveries?.cancel();
    cuts?.cancel();
    master?.cancel();
    await service?.stopSaving();
    view?.cancel();
    records?.cancel();
    await lease?.release();
    await listening.server.close();
  }
}

/** Lets `endNow` end the process like an error does: without saving anything. */
function endedBy(endNow: AbortSignal | undefined): AbortController {
  const fatal = new AbortController();
  endNow?.addEventListener('abort', () => fatal.abort(interrupted()));
  return fatal;
}

const filesOf = ({ host }: RoleContext, of: Pick<ServedFiles, 'folder' | 'index'> & { readonly job: JobRecord }) => ({
  ...of,
  storage: host.storage,
  reads: new FileReads(host.clock),
});

async function loaded(view: PlacementView, stopSignal: AbortSignal): Promise<PlacementView> {
  await view.changed.until(() => view.isLoaded() || undefined, stopSignal);
  return view;
}

const known = ({ changed, current }: RecoveryView, stopSignal: AbortSignal): Promise<unknown> =>
  changed.until(current, stopSignal);

interface Loaded {
  readonly service: ShardService | undefined;
  readonly files: ReturnType<Handled['files']>;
}

const metricsOf = ({ registry, host }: RoleContext, loaded: () => Loaded): PserverMetrics =>
  registerPserverMetrics(
    registry,
    host.clock,
    () => statsOf(loaded()),
    () => copyCounts(loaded()),
    () => intervalOf(loaded()),
    () => loaded().service?.tables() ?? [],
  );

function statsOf({ service }: Loaded): PserverStats | undefined {
  return service && { ...service.stats(), rateShare: service.serving?.rateShare() };
}

const intervalOf = ({ files }: Loaded): number | undefined => files && saveIntervalMs(files.job.job.checkpoint);

function copyCounts({ service, files }: Loaded): CopyCounts | undefined {
  const serving = service?.serving;
  if (serving === undefined || files === undefined) return undefined;
  const { replicas } = files.job.job.cluster;
  const lacking = [...serving.shards.heads.all()].filter(({ head }) => head.inSync.length < replicas).length;
  return { lacking, copies: serving.replicas?.copied.units().length ?? 0 };
}

const describe = (context: RoleContext, shards: ShardsInfo): PserverInfo => ({
  role: 'pserver',
  ...processInfo(context),
  ...shards,
});

type StartOptions = Pick<
  ShardServiceOptions,
  'folder' | 'reads' | 'metrics' | 'master' | 'view' | 'records' | 'orphans' | 'stopSignal' | 'onWaiting' | 'onFatal'
> & {
  readonly recoveries: RecoveryView;
  /** Undefined in async mode. */
  readonly cuts: CutView | undefined;
};

/** Starts the service of the job's mode. If parameters cannot be recovered, fails the whole job. */
async function startService(owned: OwnedIndex, options: StartOptions): Promise<ShardService> {
  const { context, record, index, fence, lease } = owned;
  try {
    const spec = trainedSpecOf(record, context);
    const { cuts } = options;
    const own = { ...options, context, record, index, fence, lease, spec };
    return await (cuts === undefined ? startTaskService(own) : startRoundService({ ...own, cuts }));
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) {
      await failJob(context, fence, `pserver ${index}`, error);
    }
    throw error;
  }
}

interface Interruption {
  readonly watch: JobWatch;
  readonly lease: HeldLease | undefined;
  readonly fatal: AbortSignal;
}

/**
 * Ends the role after an error. If the error is an interruption, returns or throws how the job has ended, or throws the
 * reason of the interruption. Throws other errors as they are.
 */
function endOf(error: unknown, by: Interruption): RoleEnd {
  if (!isPaddletError(error, 'Interrupted')) throw error;
  const end = by.watch.end();
  if (end === undefined) throw interruptionOf(by) ?? error;
  if ('failure' in end) throw end.failure;
  return 'finished';
}

/** Returns why the pserver was interrupted; undefined if it was asked to stop. */
function interruptionOf(by: Interruption): unknown {
  if (by.fatal.aborted) return by.fatal.reason;
  if (by.lease?.lost.aborted === true) return lossOf(by.lease);
  // The store can no longer be followed, or the job has changed.
  return by.watch.stopSignal.reason instanceof PaddletError ? by.watch.stopSignal.reason : undefined;
}
