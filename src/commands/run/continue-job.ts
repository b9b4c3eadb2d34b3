/**
 * `run` with more passes than the job had: raises the number before any process is started. Otherwise pservers and
 * trainers could find the old result first, and take the job for finished.
 */
import { hostname } from 'node:os';
import type { StoreContext } from '../../cluster/context.ts';
import { holdLease, lossOf } from '../../cluster/ownership.ts';
import type { RequestedJob } from '../../job/schema.ts';
import type { JobData } from '../../roles/master/dataset.ts';
import { takeLock } from '../../roles/master/lock.ts';
import { refuseChangedData } from '../../roles/master/publish-job.ts';
import { raisePasses } from '../../roles/master/raise-passes.ts';
import { standingOf } from '../../roles/master/standing.ts';

/**
 * Acts as the master for that moment. Throws `JobConflict` and `DataChanged` as a master does; `Interrupted` when
 * `context.stop` aborts: then the job is as it was, or continued.
 */
export async function continueJob(context: StoreContext, job: RequestedJob, data: JobData): Promise<void> {
  const lease = await holdLease(context, job.cluster.leaseTtlMs);
  try {
    const holder = { host: hostname(), pid: process.pid, since: context.host.clock.wallSeconds() };
    const secret = context.host.random.uuid();
    const fence = await takeLock(context, { lease, holder, secret }, context.stop);
    const standing = await standingOf(context, job);
    if (standing.kind !== 'continued') return;
    const { record } = standing;
    refuseChangedData(record, data);
    const stopSignal = AbortSignal.any([context.stop, lease.lost]);
    await raisePasses({ context, fence, record, passes: job.training.passes, stopSignal });
  } catch (error) {
    throw lease.lost.aborted ? lossOf(lease) : error;
  } finally {
    await lease.release();
  }
}
