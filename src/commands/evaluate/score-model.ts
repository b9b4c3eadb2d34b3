/** Scores files with the model of a job: that of its live pservers, or else that of its checkpoints. */
import { createParameterClient, type ParameterClient } from '../../cluster/client/parameter-client.ts';
import { openStoredModel } from '../../cluster/client/stored-model.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import type { Evaluated } from '../../roles/evaluator/evaluate-files.ts';
import { createIdRouter } from '../../tensor/id-router.ts';
import { openLiveCluster } from '../base/live-cluster.ts';
import { whileJobRuns } from '../base/while-job-runs.ts';
import type { OpenJob } from '../base/with-job.ts';
import { isServed } from './is-served.ts';
import { limitedPulls } from './limited-pulls.ts';

export type Score = (client: Pick<ParameterClient, 'pull'>, signal: AbortSignal) => Promise<Evaluated>;
export type Scored = Evaluated & { readonly from: 'pservers' | 'checkpoints' };

export async function scoreModel(job: OpenJob, score: Score): Promise<Scored> {
  const { host, store, keys, record, checkpointFolder, signal, retryStore } = job;
  const hasEnded = async (): Promise<boolean> => (await store.get(keys.result)) !== undefined;
  if ((await retryStore(() => isServed(store, keys, record))) && !(await retryStore(hasEnded))) {
    const scored = await whileJobRuns(job, signal, (stopSignal, onFatal) => scoreLive(job, score, stopSignal, onFatal));
    if (scored !== undefined) return { ...scored, from: 'pservers' };
    host.log.info('the job ended in the meantime: scoring its checkpoints');
  }
  signal.throwIfAborted();
  const client = await openStoredModel({ host, store, keys, record, folder: checkpointFolder });
  return { ...(await score(client, signal)), from: 'checkpoints' };
}

async function scoreLive(
  job: OpenJob,
  score: Score,
  signal: AbortSignal,
  onFatal: (error: Error) => void,
): Promise<Evaluated> {
  const { record, host, limitMs } = job;
  const { shards } = record.job.cluster;
  const { group, close } = openLiveCluster(job, onFatal);
  const { parameters: spec } = modelOf(record);
  try {
    const client = createParameterClient({ spec, shards, group, router: createIdRouter({ shards }) });
    return await score(limitedPulls(client, host.clock, limitMs), signal);
  } finally {
    close();
  }
}
