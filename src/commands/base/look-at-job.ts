/** Looks once at a job whose store is open. */

import type { Look } from '../../view/job-view.ts';
import { seeJob } from '../../view/see-job.ts';
import { unknownJob, type WhereFlags } from './find-store.ts';
import { jobNetwork } from './job-network.ts';
import { QUIET_LOG } from './quiet-log.ts';
import type { OpenJob } from './with-job.ts';

export interface LookedJob extends Pick<OpenJob, 'host' | 'store' | 'keys' | 'retryStore'> {
  /** Folder of the job, if it is known. */
  readonly folder: string | undefined;
  /** The command that named the job, if nothing has found the job in the store yet. */
  readonly typed?: WhereFlags['typed'];
}

/** Throws `JobUnknown` if the store has no such job, and what the store throws. */
export async function lookAtJob({ host, store, keys, folder, retryStore, typed }: LookedJob): Promise<Look> {
  const { clock } = host;
  const network = jobNetwork({ ...host, log: QUIET_LOG }, store, keys);
  const seen = await retryStore(() => seeJob(store, keys, network, { clock, folder }));
  if (seen === undefined) throw await unknownJob(store, { chroot: keys.chroot, typed });
  return { seen, atMs: clock.monotonicMs(), wallSeconds: clock.wallSeconds() };
}
