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

export interface LookOptions {
  readonly clock: Clock;
  /** Folder of the job, if it is known. */
  readonly folder: string | undefined;
  /**
   * Whether to find out also where copies are, and how far a job without a master came. That takes more requests. A
   * look for the processes alone goes without.
   */
  readonly isWhole: boolean;
}

/** A look at a job, and when its processes answered: on a monotonic clock, and in seconds since 1970. */
export interface Look {
  readonly seen: SeenJob;
  readonly atMs: number;
  readonly wallSeconds: number;
}

/** Undefined when there is no such job. */
export async function seeJob(
  store: Store,
  keys: Keys,
  network: Network,
  { clock, folder, isWhole }: LookOptions,
): Promise<Look | undefined> {
  const status = await describeJob(store, keys, network);
  const at = { atMs: clock.monotonicMs(), wallSeconds: clock.wallSeconds() };
  if (status === undefined || status.end !== undefined) return status && { seen: status, ...at };
  const { record, processes } = status;
  const areCopied = isWhole && record.job.cluster.replicas > 1 && processes.length > 0;
  const seen = { ...status, ...(areCopied && { copies: await describeCopies(store, keys, network, record) }) };
  if (directingInfo(status) !== undefined) return { seen, ...at };
  const here = await seenHere(store.url, folder, status, clock);
  const stored = isWhole ? await readStoredProgress(store, keys, status) : undefined;
  return { seen: { ...seen, here, stored }, ...at };
}
