import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../base/errors.ts';
import { createParameterClient, type ParameterClient } from '../cluster/client/parameter-client.ts';
import { openStoredModel } from '../cluster/client/stored-model.ts';
import { modelOf } from '../cluster/job/job-model.ts';
import { readJobRecord } from '../cluster/job/job-record.ts';
import { type Evaluated, evaluateFiles } from '../roles/evaluator/evaluate-files.ts';
import { keysOf } from '../store/keys.ts';
import { openStore } from '../store/open-store.ts';
import { retryWhileAway } from '../store/retry-store.ts';
import { createIdRouter } from '../tensor/id-router.ts';
import { findChroot, findStore } from './base/find-store.ts';
import { type JobInStore, openLiveCluster } from './base/live-cluster.ts';
import { metricsText } from './base/result-text.ts';
import { checkpointFolder } from './base/role-command.ts';
import { untilEnd } from './base/until-end.ts';
import { cacheFlags, dataFlags, jobFlags, PaddletCommand } from './base-command.ts';

export default class EvaluateCommand extends PaddletCommand<typeof EvaluateCommand> {
  static override summary = 'Score a file with a trained model';
  static override description =
    `Computes logloss, AUC, accuracy or RMSE of a job's model on a file: of the live pservers while the job runs, of its
checkpoints afterwards. Changes nothing.`;
  static override examples = [
    {
      command: '<%= config.bin %> evaluate',
      description: "The only job under ./.paddlet, on the job's own test file.",
    },
    {
      command: '<%= config.bin %> evaluate --dir .paddlet/a9a-lr --data a9a/a9a.gz --json',
      description: 'On another file.',
    },
  ];
  static override flags = {
    ...jobFlags,
    ...dataFlags,
    ...cacheFlags,
    data: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'FILE',
      description: "File, folder or pattern to score. May be repeated. Default: the job's test file.",
    }),
    labels: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'FILE',
      description: 'Label file of an idx file, in the order of the files. May be repeated.',
    }),
  };

  override async execute(): Promise<void> {
    const { flags } = this;
    const host = this.host('evaluate');
    const signal = this.interruption();
    const { url, folder } = findStore(flags);
    const store = await openStore(url, host);
    try {
      const ask = { ...host, store, signal };
      const chroot = await retryWhileAway(ask, () => findChroot(store, flags.chroot));
      const keys = chroot === undefined ? undefined : keysOf(chroot);
      const record = keys && (await retryWhileAway(ask, () => readJobRecord(store, keys)));
      if (keys === undefined || record === undefined) throw new PaddletError('JobUnknown', `no job in ${store.url}`);
      await this.evaluate({ host, store, keys, record, folder, signal });
    } finally {
      await store.close();
    }
  }

  private async evaluate(found: Found): Promise<void> {
    const { host, record } = found;
    const { test, testLabels } = record.job.data;
    const files = this.flags.data ?? test;
    if (files.length === 0)
      throw new PaddletError('Usage', 'the job has no test file', { hint: 'name one with --data' });
    const place = {
      host,
      folder: resolve(this.flags['data-dir'] ?? record.dataDir),
      cacheFolder: resolve(this.flags['cache-dir']),
    };
    const progress = this.progress('evaluating');
    const score: Score = (client, until) =>
      evaluateFiles({
        place,
        record,
        client,
        files,
        labels: this.flags.labels ?? (this.flags.data === undefined ? testLabels : []),
        signal: until,
        onTask: (done, total) => progress.update(done, total),
      });
    try {
      const { from, metrics, bad, dataset } = await scoreModel(found, score);
      const paths = dataset.index.files.map(({ path }) => path);
      const result = { job: record.job.name, model: from, files: paths, ...metrics, bad };
      this.output(result, () => `${paths.join(', ')}: ${metricsText(metrics)}${bad > 0 ? `, ${bad} bad` : ''}`);
    } finally {
      progress.end();
    }
  }
}

interface Found extends JobInStore {
  readonly folder: string | undefined;
  readonly signal: AbortSignal;
}

type Client = Pick<ParameterClient, 'pull'>;
type Score = (client: Client, signal: AbortSignal) => Promise<Evaluated>;
type Scored = Evaluated & { readonly from: 'pservers' | 'checkpoints' };

/** Live pservers know best; without them, what they wrote down. */
async function scoreModel(found: Found, score: Score): Promise<Scored> {
  const { store, keys, record, host, signal } = found;
  const ask = { ...host, store, signal };
  const live = await retryWhileAway(ask, () => store.range({ prefix: keys.psPrefix }));
  const hasEnded = async (): Promise<boolean> => (await store.get(keys.result)) !== undefined;
  if (live.entries.length === record.job.cluster.pservers && !(await retryWhileAway(ask, hasEnded))) {
    const scored = await untilEnd(found, signal, (either, crash) => scoreLive(found, score, either, crash));
    if (scored !== undefined) return { ...scored, from: 'pservers' };
    host.log.info('the job has ended meanwhile: its checkpoints are scored');
  }
  const folder = record.job.checkpoint.dir ?? checkpointFolder({ dir: found.folder }, record.job.name);
  signal.throwIfAborted();
  const client = await openStoredModel({ host, store, keys, record, folder });
  return { ...(await score(client, signal)), from: 'checkpoints' };
}

async function scoreLive(
  found: Found,
  score: Score,
  signal: AbortSignal,
  crash: (error: Error) => void,
): Promise<Evaluated> {
  const { record } = found;
  const { shards } = record.job.cluster;
  const { group, close } = openLiveCluster(found, crash);
  const { parameters: spec } = modelOf(record);
  try {
    return await score(createParameterClient({ spec, shards, group, router: createIdRouter({ shards }) }), signal);
  } finally {
    close();
  }
}
