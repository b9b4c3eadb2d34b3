/** Serves until the job ends, this process is asked to stop, or the index is lost; then saves what has to be saved. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { RoleEnd } from '../../cluster/context.ts';
import type { JobWatch } from '../../cluster/job/job-watch.ts';
import { type HeldLease, lossOf } from '../../cluster/ownership.ts';
import { orAborted } from '../../cluster/waiting.ts';
import { announce, type OwnedIndex } from './owned-index.ts';
import { trainersGone } from './rounds/trainers-gone.ts';
import type { ShardService } from './shard-service.ts';

/** `fatal` aborts with the error that ends this process. */
export async function serveUntilStopped(
  owned: OwnedIndex,
  service: ShardService,
  watch: JobWatch,
  fatal: AbortSignal,
): Promise<RoleEnd> {
  const { context, lease } = owned;
  const ending = AbortSignal.any([watch.stopSignal, lease.lost, fatal]);
  // Requests are served already: what they changed is saved even if the index turns out to be lost here.
  let taken: PaddletError | undefined;
  try {
    await announce(owned, 'up', ending);
    await orAborted(new Promise<never>(() => {}), ending);
  } catch (error) {
    if (isPaddletError(error, 'LeaseGone')) taken = error;
    else if (!isPaddletError(error, 'Interrupted')) throw error;
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
  if (loss !== undefined) return part(owned, service, loss);
  if (fatal.aborted) throw fatal.reason;
  if (watch.stopSignal.reason instanceof PaddletError) throw watch.stopSignal.reason;
  context.host.log.info('draining: saving the parameters');
  try {
    await drain(owned, service);
    return 'stopped';
  } catch (error) {
    const lost = isPaddletError(error, 'LeaseGone') ? error : lossOfIndex(lease, fatal);
    if (lost === undefined) throw error;
    return part(owned, service, lost);
  }
}

/** Set when the index is lost: by the lease, or by a save that found the key to be another's before the lease did. */
function lossOfIndex(lease: HeldLease, fatal: AbortSignal): PaddletError | undefined {
  if (lease.lost.aborted) return lossOf(lease);
  return isPaddletError(fatal.reason, 'LeaseGone') ? fatal.reason : undefined;
}

/** Waits for an unreachable store while the index may still be ours: stopping is no reason to lose anything. */
async function drain(owned: OwnedIndex, service: ShardService): Promise<void> {
  await announce(owned, 'draining', owned.lease.lost);
  await service.saveLast();
  await announce(owned, 'down', owned.lease.lost);
}

/** Another pserver may claim the index now: the shards are saved for it. Throws `loss`. */
async function part({ context }: OwnedIndex, service: ShardService, loss: PaddletError): Promise<never> {
  await service.stopSaving();
  try {
    await service.saveParting();
  } catch (error) {
    if (!isPaddletError(error, 'CheckpointNotWritten')) throw error;
    // Costs work, not the job: the next owner loads an older file, and what that lacks is repaired.
    context.host.log.error(`the parting snapshot is lost: ${error.message}`, { hint: error.hint });
  }
  throw loss;
}
