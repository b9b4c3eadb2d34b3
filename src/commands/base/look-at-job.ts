/** Looks once at a job whose store is open. */
import { type Look, seeJob } from '../../view/see-job.ts';
import { unknownJob, type WhereFlags } from './find-store.ts';
import { jobNetwork } from './job-network.ts';
import { QUIET_LOG } from './quiet-log.ts';
import type { OpenJob } from './with-job.ts';

export interface LookedJob extends Pick<OpenJob, 'host' | 'store' | 'keys' | 'retryStore'> {
  /** Folder of the job, if it is known. */
  readonly folder: string | undefined;
  /** The command as it was typed, for the hint if the store has no such job. */
  readonly typed?: WhereFlags['typed'];
}

/** `isWhole`: as in `seeJob`. Throws `JobUnknown` if the store has no such job, and what the store throws. */
export async function lookAtJob(job: LookedJob, { isWhole }: { readonly isWhole: boolean }): Promise<Look> {
  const { host, store, keys, folder, retryStore, typed } = job;
  const network = jobNetwork({ ...host, log: QUIET_LOG }, store, keys);
  const look = await retryStore(() => seeJob(store, keys, network, { clock: host.clock, folder, isWhole }));
  if (look === undefined) throw await retryStore(() => unknownJob(store, { chroot: keys.chroot, typed }));
  return look;
}
