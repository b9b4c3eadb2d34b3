/** Scores records with the model of a job: that of its live pservers, or else that of its checkpoints. */
import { PaddletError } from '../../base/errors.ts';
import { manifestPath } from '../../checkpoint/registry/manifest.ts';
import { openCheckpointModel } from '../../cluster/client/checkpoint-model.ts';
import type { LocalPulls } from '../../cluster/client/local-pulls.ts';
import { createParameterClient, type ParameterClient } from '../../cluster/client/parameter-client.ts';
import { openStoredModel } from '../../cluster/client/stored-model.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import { evaluationStateSchema } from '../../core/evaluation-points.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import { createIdRouter } from '../../tensor/id-router.ts';
import { openLiveCluster } from '../base/live-cluster.ts';
import { whileJobRuns } from '../base/while-job-runs.ts';
import type { OpenJob } from '../base/with-job.ts';
import { isServed } from './is-served.ts';
import { limitedPulls } from './limited-pulls.ts';

/** Checkpoints also tell which ids they know. */
export type ScoreClient = Pick<ParameterClient, 'pull'> & Partial<Pick<LocalPulls, 'knownIds'>>;
export type Score<T> = (client: ScoreClient, signal: AbortSignal) => Promise<T>;
export type Scored<T> = T & { readonly from: 'pservers' | 'checkpoints' | 'best' };

/** When the job ends while its pservers are asked, `score` is called once more, with its checkpoints. */
export async function scoreModel<T extends object>(job: OpenJob, score: Score<T>): Promise<Scored<T>> {
  const { host, store, keys, record, checkpointFolder, signal, retryStore } = job;
  const hasEnded = async (): Promise<boolean> => (await store.get(keys.result)) !== undefined;
  if ((await retryStore(() => isServed(store, keys, record))) && !(await retryStore(hasEnded))) {
    const scored = await whileJobRuns(job, signal, (stopSignal, onFatal) => scoreLive(job, score, stopSignal, onFatal));
    if (scored !== undefined) return { ...scored, from: 'pservers' };
    host.log.info('the job ended in the meantime: scoring its checkpoints');
  }
  signal.throwIfAborted();
  if (!(await retryStore(hasEnded))) {
    host.log.warn(`job ${record.job.name} has not finished training: scoring its newest checkpoints`);
  }
  const client = await openStoredModel({ host, store, keys, record, folder: checkpointFolder });
  return { ...(await score(client, signal)), from: 'checkpoints' };
}

/** With the best model of a job that is evaluated while it trains. `CheckpointMissing` when none is kept. */
export async function scoreBest<T extends object>(job: OpenJob, score: Score<T>): Promise<Scored<T>> {
  const { host, store, keys, record, checkpointFolder, signal, retryStore } = job;
  const entry = await retryStore(() => store.get(keys.evaluation));
  const best = entry && parseStoreValue(evaluationStateSchema, entry.key, entry.value).best;
  if (best === undefined) {
    throw new PaddletError('CheckpointMissing', `job ${record.job.name} does not have a best model`, {
      hint: 'omit --best, or add a section `evaluation` to the job file',
    });
  }
  const of = { id: record.id, name: record.job.name };
  const path = manifestPath({ folder: checkpointFolder, job: of }, best.name);
  const { client } = await openCheckpointModel({ host, path, signal });
  return { ...(await score(client, signal)), from: 'best' };
}

async function scoreLive<T>(
  job: OpenJob,
  score: Score<T>,
  signal: AbortSignal,
  onFatal: (error: Error) => void,
): Promise<T> {
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
