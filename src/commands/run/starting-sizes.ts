/** How many pservers and trainers a run starts: as the job has them now, which may not be as its file has them. */
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { parseTrainersDesired, trainersFor } from '../../cluster/job/trainers-desired.ts';
import type { Sizes } from '../../roles/launcher/wanted-sizes.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { ClusterRun } from './cluster-run.ts';

type SizesOf = Pick<ClusterRun, 'store' | 'keys' | 'loaded' | 'stop'> & {
  readonly host: Pick<ClusterRun['host'], 'clock' | 'log'>;
};

/** `record` of a job that is resumed or continued. Throws `Interrupted` when the run is stopped. */
export async function startingSizes(run: SizesOf, record: JobRecord | undefined): Promise<Sizes> {
  const { pservers, trainers: jobFile } = run.loaded.job.cluster;
  if (record === undefined) return { pservers, trainers: jobFile };
  const present = { pservers: record.job.cluster.pservers, trainers: await trainersNow(run, record) };
  const { log } = run.host;
  if (present.pservers !== pservers)
    log.info(`${present.pservers} pservers, as the job has now; its file: ${pservers}`);
  if (present.trainers !== jobFile) log.info(`${present.trainers} trainers, as the job has now; its file: ${jobFile}`);
  return present;
}

async function trainersNow({ host, store, keys, loaded, stop }: SizesOf, record: JobRecord): Promise<number> {
  const ask = { ...host, store, signal: stop };
  const key = keys.trainersDesired;
  const { trainers: jobFile } = loaded.job.cluster;
  const { trainers: published } = record.job.cluster;
  for (;;) {
    const entry = await retryUntilAnswered(ask, () => store.get(key));
    const before = entry && parseTrainersDesired(entry);
    const now = trainersFor(jobFile, before, published);
    const isKnown = (before ?? { jobFile: published }).jobFile === now.jobFile;
    if (isKnown) return now.trainers;
    // The compare fails when a try whose outcome was unknown has landed: then it is read again.
    const unchanged = [{ key, modRevision: entry?.modRevision ?? 0n }];
    await retryUntilAnswered(ask, () => store.txn({ if: unchanged, then: [{ put: key, value: JSON.stringify(now) }] }));
  }
}
