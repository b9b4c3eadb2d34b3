/**
 * Serves until the job ends, this process is asked to stop, this pserver loses its index, or the job no longer wants
 * the index. Then hands over or saves the units.
 */
import { type Backoff, backoffMs, pause } from '../../base/backoff.ts';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { RoleContext, RoleEnd } from '../../cluster/context.ts';
import type { JobWatch } from '../../cluster/job/job-watch.ts';
import { type HeldLease, lossOf, retryStore } from '../../cluster/ownership.ts';
import { isCountedOn, parseHead } from '../../cluster/placement/heads.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import { untilNoneLeft } from '../../cluster/until-none-left.ts';
import { abortOnChange, orAborted } from '../../cluster/waiting.ts';
import { announce, type OwnedIndex } from './claim/owned-index.ts';
import { keepRecordCurrent } from './claim/record-sizes.ts';
import { isWanted, leaveIndex, leaveUnwanted, leaveWithin } from './leaving.ts';
import type { ShardService } from './shard-service.ts';

export interface ServedUntilStopped {
  readonly owned: OwnedIndex;
  readonly service: ShardService;
  readonly watch: JobWatch;
  readonly view: Pick<PlacementView, 'changed' | 'desired'>;
  /** Aborts with the error that ends this process. */
  readonly fatal: AbortSignal;
  /** Time limit for handing over units when only this process is stopped. */
  readonly leaveLimitMs: number;
  /** The job's checkpoint folder. */
  readonly folder: string;
}

export async function serveUntilStopped(by: ServedUntilStopped): Promise<RoleEnd> {
  const { owned, service, watch, fatal } = by;
  const { context, lease } = owned;
  let role: RoleEnd | undefined;
  // Requests are already served. Their changes are saved even if the index turns out to be lost here.
  let taken: PaddletError | undefined;
  try {
    role = await serveUntilLeft(by);
  } catch (error) {
    if (!isPaddletError(error, 'LeaseGone')) throw error;
    taken = error;
  }
  if (role === 'left' && (await leaveIndex(by, by.view, by.folder, endingOf(by)))) return role;
  if (role !== undefined) {
    await announce(owned, 'down', [], lease.lost);
    return role;
  }
  const end = watch.end();
  if (end !== undefined) {
    if ('failure' in end) throw end.failure;
    return 'finished';
  }
  if (watch.stopRequested() && owned.record.job.training.mode === 'sync') {
    await trainersGone(context, AbortSignal.any([lease.lost, fatal]));
  }
  service.freeze();
  const loss = taken ?? lossOfIndex(lease, fatal);
  if (loss !== undefined) return part(owned, service, loss, watch.stopSignal);
  if (fatal.aborted) throw fatal.reason;
  if (watch.stopSignal.reason instanceof PaddletError) throw watch.stopSignal.reason;
  context.host.log.info('draining: saving the parameters');
  try {
    await drain(by, isJobStopping(by) ? STAY_LEASES * owned.record.job.cluster.leaseTtlMs : 0);
    // A pserver that the job no longer wants has left, even if it was also asked to stop.
    return watch.stopSignal.aborted && isWanted(owned, by.view) ? 'stopped' : 'left';
  } catch (error) {
    const lost = isPaddletError(error, 'LeaseGone') ? error : lossOfIndex(lease, fatal);
    if (lost === undefined) throw fatal.aborted ? fatal.reason : error;
    return part(owned, service, lost, watch.stopSignal);
  }
}

/**
 * Returns how the role ends once other pservers have taken all units. Returns undefined if they have not: the job ends
 * or stops, this process fails or loses its index, or no pserver takes the units in time. Throws `LeaseGone` if another
 * process has the index by now.
 */
async function serveUntilLeft(by: ServedUntilStopped): Promise<RoleEnd | undefined> {
  const { owned, service, watch, view, fatal } = by;
  const { context, lease } = owned;
  const ending = endingOf(by);
  while (!ending.aborted) {
    await serveWhileWanted(by, ending);
    if (ending.aborted) break;
    if (await leaveUnwanted({ owned, service }, view, ending)) return 'left';
  }
  const jobStop = context.jobStop === undefined ? [] : [context.jobStop];
  const giveUp = AbortSignal.any([watch.jobSignal, ...jobStop, lease.lost, fatal]);
  if (giveUp.aborted) return undefined;
  return (await leaveWithin({ owned, service }, by.leaveLimitMs, giveUp)) ? 'stopped' : undefined;
}

const isJobStopping = ({ owned, watch }: ServedUntilStopped): boolean =>
  watch.jobSignal.aborted || owned.context.jobStop?.aborted === true;

const endingOf = ({ owned, watch, fatal }: ServedUntilStopped): AbortSignal =>
  AbortSignal.any([watch.stopSignal, owned.lease.lost, fatal]);

async function serveWhileWanted({ owned, service, view }: ServedUntilStopped, ending: AbortSignal): Promise<void> {
  const unwanted = abortOnChange(view.changed, () => !isWanted(owned, view), ending);
  try {
    await keepRecordCurrent(owned, service, 'up', AbortSignal.any([ending, unwanted.signal]));
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
  } finally {
    unwanted.release();
  }
}

/** Returns the error if the index is lost. A save may notice the loss before the lease does. */
function lossOfIndex(lease: HeldLease, fatal: AbortSignal): PaddletError | undefined {
  if (lease.lost.aborted) return lossOf(lease);
  return isPaddletError(fatal.reason, 'LeaseGone') ? fatal.reason : undefined;
}

/**
 * Saves the last state. Waits for an unreachable store while this pserver may still have its index, so that stopping
 * loses nothing. If the disk refuses the file, retries for DRAIN_PATIENCE_MS only, because another process may want the
 * index. A fatal error ends the wait, since the copies of a unit may then never settle: throws `Interrupted`.
 */
async function drain({ owned, service, fatal }: ServedUntilStopped, patienceMs: number): Promise<void> {
  const { lease, context } = owned;
  const { clock } = context.host;
  const ending = AbortSignal.any([lease.lost, fatal]);
  await announce(owned, 'draining', service.unitBytes(), ending);
  const untilMs = clock.monotonicMs() + DRAIN_PATIENCE_MS;
  await untilWritten(
    context,
    () => orAborted(service.saveLast(patienceMs), fatal),
    async (error) => {
      if (clock.monotonicMs() >= untilMs) throw error;
      return true;
    },
    ending,
  );
  await announce(owned, 'down', [], ending);
}

/**
 * How many lease times to keep copies whose primaries have not saved their units when the whole job stops. A dead
 * primary loses its lease in this time, even if the store is slow to report the loss.
 */
const STAY_LEASES = 2;
/** How long to wait for room on the disk after a request to stop. */
const DRAIN_PATIENCE_MS = 20_000;
/** Pauses before retries of a save that the disk refused. */
const TRY_AGAIN: Backoff = { firstMs: 250, capMs: 2_000 };
/** Interval of the log entries about a refusal. */
const REMIND_MS = 10_000;

/**
 * Repeats a save that the disk refuses. Returns true once it is written, false once `isWanted` returns false. The
 * signal ends a pause early.
 */
async function untilWritten(
  { host }: RoleContext,
  save: () => Promise<unknown>,
  isWanted: (error: PaddletError) => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, log } = host;
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  for (let failures = 0; ; failures++) {
    try {
      await save();
      return true;
    } catch (error) {
      if (!isPaddletError(error, 'CheckpointNotWritten')) throw error;
      if (clock.monotonicMs() - loggedAtMs >= REMIND_MS) {
        loggedAtMs = clock.monotonicMs();
        log.error(`not written yet, and kept in memory: ${error.message}`, { hint: error.hint });
      }
      if (!(await isWanted(error))) return false;
    }
    await pause(clock, backoffMs(failures, TRY_AGAIN), signal);
  }
}

/**
 * Saves a parting snapshot for the next owners of the shards: the shards that this pserver led, and its copies of other
 * units. While the heads still name this pserver, its memory may be the only state. So if the disk refuses the
 * snapshot, retries until other pservers have the units or this process is stopped. Throws `loss`.
 */
async function part(
  owned: OwnedIndex,
  service: ShardService,
  loss: PaddletError,
  stopSignal: AbortSignal,
): Promise<never> {
  const { context } = owned;
  const { log } = context.host;
  await service.stopSaving();
  let why = 'this process was asked to stop, or the job has ended';
  const isWanted = async (): Promise<boolean> => {
    if (stopSignal.aborted) return false;
    if (await isNamedByHeads(owned)) return true;
    why = 'another pserver has taken the shards';
    return false;
  };
  const isWritten = await untilWritten(context, () => service.saveParting(), isWanted, stopSignal);
  // This costs work, but not the job: the next owner loads an older file, and trainers repeat the missing updates.
  if (!isWritten) log.error(`the parting snapshot is lost: ${why}`);
  throw loss;
}

/** Whether the heads still count on the state of this process for some unit. */
async function isNamedByHeads({ context, index, fence }: OwnedIndex): Promise<boolean> {
  const { keys, store } = context;
  const me = { index, token: fence.token.toString() };
  try {
    const { entries } = await retryStore(context, () => store.range({ prefix: keys.headsPrefix }));
    return entries.some(({ key, value }) => isCountedOn(parseHead(key, value), me));
  } catch (error) {
    // This process was asked to stop while the store did not answer.
    if (isPaddletError(error, 'Interrupted')) return false;
    throw error;
  }
}

// ---- sync mode

/** Longer than trainers need to leave. A pserver does not wait for a trainer that is stuck. */
const TRAINERS_LEAVE_MS = 5_000;

/**
 * Waits for the trainers to leave when the whole job is asked to stop. They leave only after every pserver has the same
 * lanes of the current round. Otherwise one pserver could complete the round while another lacks a lane that no trainer
 * has. Then all pservers would have to go back to the last cut. Resolves when no trainer is registered, after
 * TRAINERS_LEAVE_MS, or when `signal` aborts.
 */
async function trainersGone(context: RoleContext, signal: AbortSignal): Promise<void> {
  const { keys, host } = context;
  try {
    const left = await untilNoneLeft(context, keys.trainersPrefix, { patienceMs: TRAINERS_LEAVE_MS, signal });
    if (left.size === 0) return;
    host.log.warn('trainers are still registered: no longer waiting for them', { trainers: left.size });
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    if (error.code !== 'Interrupted') host.log.warn(`not waiting for trainers to leave: ${error.message}`);
  }
}
