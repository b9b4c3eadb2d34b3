/**
 * The pserver (seeds/distributed-training.en.md, "Parameter Server Process"): claims an index, takes its shards, serves
 * pulls and pushes while its lease holds, and writes its parameters down when it leaves.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { RoleContext, RoleEnd } from '../../cluster/context.ts';
import { type JobRecord, modelOf } from '../../cluster/job/job-record.ts';
import { failJob, type JobWatch, watchJob } from '../../cluster/job/job-watch.ts';
import { waitForJob } from '../../cluster/job/wait-for-job.ts';
import { type Listening, listen } from '../../cluster/listen.ts';
import { type HeldLease, holdLease, lossOf, retryStore } from '../../cluster/ownership.ts';
import { type CutView, followCut } from '../../cluster/placement/cut-view.ts';
import { checkDesired } from '../../cluster/placement/ps-desired.ts';
import type { PserverRecord } from '../../cluster/placement/pserver-record.ts';
import { followRecovery, type RecoveryView } from '../../cluster/placement/recovery.ts';
import { orAborted } from '../../cluster/waiting.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { claimIndex } from './claim-index.ts';
import { landInParameters } from './landing.ts';
import { registerPserverMetrics } from './metrics.ts';
import { holdRounds } from './rounds/hold.ts';
import { trainersGone } from './rounds/trainers-gone.ts';
import { createHandler } from './serve.ts';
import { type Holding, type HoldOptions, holdShards } from './tasks/hold.ts';

export interface PserverOptions {
  /** Undefined: the first free one. */
  readonly index: number | undefined;
  /** Where checkpoints go when the job does not say. */
  readonly checkpointDir: string;
}

export async function runPserver(context: RoleContext, options: PserverOptions): Promise<RoleEnd> {
  let holding: Holding | undefined;
  let waitingFor = 'the job';
  const started = context.host.clock.wallSeconds();
  const metrics = registerPserverMetrics(context.registry, () => holding?.stats());
  const info = (): Record<string, unknown> => ({
    role: 'pserver',
    pid: context.pid,
    host: context.hostName,
    version: context.version,
    ...(holding === undefined ? { waitingFor } : holding.info()),
  });
  const listening = await listen(
    context,
    createHandler(() => holding?.serving, info),
    () => (holding === undefined ? { ready: false, reason: `waiting for ${waitingFor}` } : { ready: true }),
    landInParameters(() => holding?.serving?.parameters),
  );
  context.host.log.info(`pserver at ${listening.address}`);
  let lease: HeldLease | undefined;
  let recoveries: RecoveryView | undefined;
  let cuts: CutView | undefined;
  const crash = new AbortController();
  const fail = (error: unknown): void => crash.abort(error);
  try {
    const record = await waitForJob(context);
    const watch = watchJob(context);
    try {
      await watch.known;
      waitingFor = 'an index';
      lease = await holdLease(context, record.job.cluster.leaseTtlMs);
      const over = AbortSignal.any([watch.over, lease.lost, crash.signal]);
      const claimed = await claimIndex({
        context,
        lease,
        address: listening.address,
        wanted: options.index,
        desired: record.job.cluster.pservers,
        leaseTtlMs: record.job.cluster.leaseTtlMs,
        over: watch.over,
      });
      // From here on the number stays: a restore needs that no index is held.
      const desired = await retryStore(context, () => context.store.get(context.keys.psDesired));
      if (desired !== undefined) checkDesired(desired, record.job.cluster.pservers);
      failPoint('pserver.claimed');
      waitingFor = 'its shards';
      recoveries = followRecovery(context, fail);
      const recovered = recoveries;
      await recovered.changed.until(() => recovered.current(), over);
      const me: Me = { ...claimed, context, record, listening, lease, started };
      await announce(me, 'loading');
      const folder = record.job.checkpoint.dir ?? options.checkpointDir;
      cuts = record.job.training.mode === 'sync' ? followCut(context, fail) : undefined;
      holding = await takeHold(me, { folder, metrics, recoveries, cuts, over, onEnd: fail });
      await announce(me, 'up');
      return await serve(me, holding, watch, crash.signal);
    } catch (error) {
      if (!isPaddletError(error, 'Interrupted')) throw error;
      // The job was over before this pserver had anything to do with it.
      const end = watch.end();
      if (end === undefined) throw interruptionOf({ watch, lease, crash: crash.signal }) ?? error;
      if ('failure' in end) throw end.failure;
      return 'finished';
    } finally {
      watch.cancel();
    }
  } catch (error) {
    if (isPaddletError(error, 'Interrupted')) return 'stopped';
    throw error;
  } finally {
    recoveries?.cancel();
    cuts?.cancel();
    await holding?.checkpointing.stop();
    await lease?.release();
    await listening.server.close();
  }
}

interface Me {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly index: number;
  readonly fence: Fence;
  readonly listening: Listening;
  readonly lease: HeldLease;
  readonly started: number;
}

/** `/pservers/<index>`, as the seed has it. */
async function announce(me: Me, status: PserverRecord['status'], signal = me.context.stop): Promise<void> {
  const { context, index, fence } = me;
  const value: PserverRecord = {
    id: index,
    instance: `${context.hostName} ${me.listening.address}`,
    status,
    start_time: me.started,
    sync: status === 'up',
  };
  const then = [{ put: context.keys.pserver(index), value: JSON.stringify(value) }];
  await retryStore(context, () => fencedTxn(context.store, fence, { then }), signal);
}

/** Parameters that cannot be had again end the job for everybody. */
async function takeHold(
  me: Me,
  options: Pick<HoldOptions, 'folder' | 'metrics' | 'recoveries' | 'onEnd'> & {
    readonly cuts: CutView | undefined;
    readonly over: AbortSignal;
  },
): Promise<Holding> {
  const { context, record, index, fence, lease } = me;
  try {
    const spec = modelOf(record, context).parameters;
    const { cuts } = options;
    const own = { ...options, context, record, index, fence, lease, spec };
    return await (cuts === undefined ? holdShards(own) : holdRounds({ ...own, cuts }));
  } catch (error) {
    if (isPaddletError(error, 'ParametersLost', 'CheckpointMissing', 'CheckpointCorrupt')) {
      await failJob(context, fence, `pserver ${index}`, error);
    }
    throw error;
  }
}

/** Why something was interrupted that nobody stopped. */
function interruptionOf(by: { watch: JobWatch; lease: HeldLease | undefined; crash: AbortSignal }): unknown {
  if (by.crash.aborted) return by.crash.reason;
  if (by.lease?.lost.aborted === true) return lossOf(by.lease);
  // The store cannot be followed any more.
  return by.watch.over.reason instanceof PaddletError ? by.watch.over.reason : undefined;
}

/** The index is gone: the lease says so, or a save that found the key to be another's before the lease was asked. */
function lossOfIndex(lease: HeldLease, crash: AbortSignal): PaddletError | undefined {
  if (lease.lost.aborted) return lossOf(lease);
  return isPaddletError(crash.reason, 'LeaseGone') ? crash.reason : undefined;
}

async function serve(me: Me, holding: Holding, watch: JobWatch, crash: AbortSignal): Promise<RoleEnd> {
  const { context, lease } = me;
  try {
    await orAborted(new Promise<never>(() => {}), AbortSignal.any([watch.over, lease.lost, crash]));
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
  }
  const end = watch.end();
  if (end !== undefined) {
    if ('failure' in end) throw end.failure;
    return 'finished';
  }
  if (watch.stopRequested() && me.record.job.training.mode === 'sync') {
    await trainersGone(context, AbortSignal.any([lease.lost, crash]));
  }
  holding.freeze();
  const loss = lossOfIndex(lease, crash);
  if (loss !== undefined) return part(me, holding, loss);
  if (crash.aborted) throw crash.reason;
  if (watch.over.reason instanceof PaddletError) throw watch.over.reason;
  context.host.log.info('leaving: writing the parameters down');
  try {
    await leave(me, holding);
    return 'stopped';
  } catch (error) {
    const lost = isPaddletError(error, 'LeaseGone') ? error : lossOfIndex(lease, crash);
    if (lost === undefined) throw error;
    return part(me, holding, lost);
  }
}

/** A store that is away is waited for while the index may still be ours: a stop is no reason to lose anything. */
async function leave(me: Me, holding: Holding): Promise<void> {
  await announce(me, 'draining', me.lease.lost);
  await holding.checkpointing.last();
  await announce(me, 'down', me.lease.lost);
}

/** The index is another's to claim: what is held is written down for whoever does. */
async function part({ context }: Me, holding: Holding, loss: PaddletError): Promise<never> {
  await holding.checkpointing.stop();
  try {
    await holding.snapshots.part();
  } catch (error) {
    if (!isPaddletError(error, 'CheckpointNotWritten')) throw error;
    // Costs work, not the job: the next owner begins at an older file, and what that lacks is repaired.
    context.host.log.error(`the parting snapshot is lost: ${error.message}`, { hint: error.hint });
  }
  throw loss;
}
