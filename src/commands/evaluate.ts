import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../base/errors.ts';
import { evaluateFiles } from '../roles/evaluate.ts';
import { modelOf, readJobRecord } from '../roles/job-record.ts';
import { createParameterClient, type ParameterClient } from '../roles/parameter-client.ts';
import { openStoredModel } from '../roles/stored-model.ts';
import { keysOf } from '../store/keys.ts';
import { openStore } from '../store/open-store.ts';
import { retryWhileAway } from '../store/retry-while-away.ts';
import { createIdRouter } from '../tensor/id-router.ts';
import { findChroot, findStore } from './base/find-store.ts';
import { type JobInStore, openLiveCluster } from './base/live-cluster.ts';
import { metricsText } from './base/result-text.ts';
import { checkpointFolder } from './base/role-command.ts';
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
    const { host, record, signal } = found;
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
    const source = await this.openModel(found);
    try {
      const { metrics, bad, dataset } = await evaluateFiles({
        place,
        record,
        client: source.client,
        files,
        labels: this.flags.labels ?? (this.flags.data === undefined ? testLabels : []),
        signal,
        onTask: (done, total) => progress.update(done, total),
      });
      const paths = dataset.index.files.map(({ path }) => path);
      const result = { job: record.job.name, model: source.from, files: paths, ...metrics, bad };
      this.output(result, () => `${paths.join(', ')}: ${metricsText(metrics)}${bad > 0 ? `, ${bad} bad` : ''}`);
    } finally {
      progress.end();
      source.close();
    }
  }

  /** Live pservers know best; without them, what they wrote down. */
  private async openModel(found: Found): Promise<Source> {
    const { store, keys, record, host, signal } = found;
    const live = await store.range({ prefix: keys.psPrefix });
    if (live.entries.length === record.job.cluster.pservers && (await store.get(keys.result)) === undefined) {
      return liveModel(found);
    }
    const folder = record.job.checkpoint.dir ?? checkpointFolder({ dir: found.folder }, record.job.name);
    signal.throwIfAborted();
    return {
      from: 'checkpoints',
      client: await openStoredModel({ host, store, keys, record, folder }),
      close: () => {},
    };
  }
}

interface Found extends JobInStore {
  readonly folder: string | undefined;
  readonly signal: AbortSignal;
}

interface Source {
  readonly from: 'pservers' | 'checkpoints';
  readonly client: Pick<ParameterClient, 'pull'>;
  readonly close: () => void;
}

function liveModel(found: Found): Source {
  const { record } = found;
  const { shards } = record.job.cluster;
  const { group, close } = openLiveCluster(found);
  const client = createParameterClient({
    spec: modelOf(record).parameters,
    shards,
    group,
    router: createIdRouter({ shards }),
  });
  return { from: 'pservers', client, close };
}
