/** Gathers the status of a job as it is shown: what it says itself, and what this machine knows of it. */
import type { Clock } from '../../base/seams.ts';
import { describeCopies } from '../../cluster/client/describe-copies.ts';
import { describeJob, directingInfo } from '../../cluster/job/describe-job.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { jobFolder } from '../base/find-store.ts';
import { listedIn } from '../base/listed-bad-records.ts';
import { seenHere } from './seen-here.ts';
import type { ShownStatus } from './shown-status.ts';
import { readStoredProgress } from './stored-progress.ts';

/** `folder` of the job, if it is known. Undefined when there is no such job. */
export async function showJob(
  store: Store,
  keys: Keys,
  network: Network,
  at: { readonly clock: Clock; readonly folder: string | undefined },
): Promise<ShownStatus | undefined> {
  const status = await describeJob(store, keys, network);
  if (status === undefined) return undefined;
  const { record, processes, end } = status;
  const bad = end !== undefined && 'result' in end ? end.result.records.bad : 1;
  const listed = listedIn(jobFolder({ dir: at.folder }, record.job.name), bad);
  if (end !== undefined) return { ...status, listed };
  const areCopied = record.job.cluster.replicas > 1 && processes.length > 0;
  const known = { ...status, listed, ...(areCopied && { copies: await describeCopies(store, keys, network, record) }) };
  if (directingInfo(status) !== undefined) return known;
  const here = await seenHere(store.url, at.folder, status, at.clock);
  return { ...known, here, stored: await readStoredProgress(store, keys, status) };
}
