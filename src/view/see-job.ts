/** Looks at a job once: at the store, at each of its processes, and at this machine. */
import type { Clock } from '../base/seams.ts';
import { describeCopies, type UnitCopiesStatus } from '../cluster/client/describe-copies.ts';
import type { Network } from '../protocol/messages/channel.ts';
import type { Keys } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { describeJob, directingInfo, type JobStatus } from './describe-job.ts';
import { type SeenHere, seenHere } from './seen-here.ts';
import { readStoredProgress, type StoredProgress } from './stored-progress.ts';

/** The facts, as they were found. `viewOf` (`job-view.ts`) says what they come to. */
export interface SeenJob extends JobStatus {
  /** What the last master saved; while no master directs the job. */
  readonly stored?: StoredProgress | undefined;
  /** For a store in a file: what is known about the processes of this machine. */
  readonly here?: SeenHere | undefined;
  /** Present if units have copies, and processes live. */
  readonly copies?: readonly UnitCopiesStatus[];
}

/** `folder` of the job, if it is known. Undefined when there is no such job. */
export async function seeJob(
  store: Store,
  keys: Keys,
  network: Network,
  at: { readonly clock: Clock; readonly folder: string | undefined },
): Promise<SeenJob | undefined> {
  const status = await describeJob(store, keys, network);
  if (status === undefined || status.end !== undefined) return status;
  const { record, processes } = status;
  const areCopied = record.job.cluster.replicas > 1 && processes.length > 0;
  const seen = { ...status, ...(areCopied && { copies: await describeCopies(store, keys, network, record) }) };
  if (directingInfo(status) !== undefined) return seen;
  const here = await seenHere(store.url, at.folder, status, at.clock);
  return { ...seen, here, stored: await readStoredProgress(store, keys, status) };
}
