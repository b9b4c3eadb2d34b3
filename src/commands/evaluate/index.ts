import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { openCheckpointModel } from '../../cluster/client/checkpoint-model.ts';
import { mayBeGrouped } from '../../job/evaluation-rules.ts';
import { taskOf } from '../../model/registry.ts';
import { type Evaluated, evaluateFiles } from '../../roles/evaluator/evaluate-files.ts';
import { durationFlag } from '../base/duration-flag.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { listedIn, listedText } from '../base/listed-bad-records.ts';
import { modelArg, namedModel } from '../base/named-job.ts';
import { scoredText } from '../base/result-text.ts';
import { type OpenJob, withJob } from '../base/with-job.ts';
import { cacheFlags, dataFlagsElse, jobFlags, labelsFlag, PaddletCommand } from '../base-command.ts';
import { bestFlag, bestOfNoJob } from './best-flag.ts';
import { type Score, type Scored, scoreBest, scoreModel } from './score-model.ts';

export default class EvaluateCommand extends PaddletCommand<typeof EvaluateCommand> {
  static override summary = 'Compute the metrics of a trained model on data files';
  static override description =
    `Computes the metrics that suit the model, such as log loss, AUC, accuracy, RMSE and calibration. If the records
have groups, such as users, also computes hit rate and NDCG. While the job runs, the command reads the parameters from
its pservers; afterwards, from its checkpoints. If MODEL is a checkpoint folder or a merged model, the command needs
neither a store nor a running job. The command does not change the job.`;
  static override examples = [
    {
      command: '<%= config.bin %> evaluate clicks',
      description: 'Evaluate the model of the job `clicks` on the test data of the job.',
    },
    {
      command: '<%= config.bin %> evaluate a9a-lr --data a9a/a9a.gz --json',
      description: 'Evaluate the model of the job a9a-lr on another file, and print JSON for a script.',
    },
    {
      command: '<%= config.bin %> evaluate /backup/clicks --data monday.csv',
      description: 'Evaluate a copy of a checkpoint folder; the store of the job is not needed.',
    },
  ];
  static override args = modelArg;
  static override flags = {
    ...jobFlags,
    timeout: durationFlag('60s', 'Longest time to wait for each answer from the store or the pservers.'),
    ...dataFlagsElse('the folder that the master uses'),
    ...cacheFlags,
    data: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'FILE',
      description: "File, folder or glob to score. May be repeated. Default: the job's test files, or its test split.",
    }),
    labels: labelsFlag,
    'top-k': Flags.integer({
      min: 1,
      max: LIMITS.topK,
      helpValue: 'N',
      description:
        'Cutoff k of hit rate and NDCG: the number of highest-scored records that count in each group. Default: data.topK of the job.',
    }),
    best: bestFlag,
  };

  override async execute(): Promise<void> {
    refuseEmpty(this.flags.data ?? [], '--data');
    const host = this.host('evaluate');
    const signal = this.interruption();
    const { best } = this.flags;
    const model = namedModel(this.args.model, this.flags, this.typed);
    if (model.kind === 'job') {
      await withJob({ flags: model.flags, host, signal }, (job) =>
        this.evaluate(job, (score) => (best ? scoreBest(job, score) : scoreModel(job, score))),
      );
      return;
    }
    if (best) throw bestOfNoJob(model.path);
    const { record, client } = await openCheckpointModel({ host, path: resolve(model.path), signal });
    await this.evaluate({ host, record }, async (score) => ({ ...(await score(client, signal)), from: 'checkpoints' }));
  }

  private async evaluate(
    { host, record, folder }: Pick<OpenJob, 'host' | 'record'> & Partial<Pick<OpenJob, 'folder'>>,
    withModel: (score: Score<Evaluated>) => Promise<Scored<Evaluated>>,
  ): Promise<void> {
    const { flags } = this;
    const topK = flags['top-k'];
    const task = taskOf(record.job.model);
    if (topK !== undefined && task !== 'binary') {
      throw new PaddletError('Usage', `--top-k needs a binary model, but the job has task ${task}`);
    }
    const { train, test, testLabels, split, columns, groupBy } = record.job.data;
    const types = columns?.map(({ type }) => type);
    if (topK !== undefined && !mayBeGrouped(types, groupBy)) {
      throw new PaddletError(
        'Usage',
        '--top-k ranks records within groups, but the records of the job do not have groups',
        {
          hint: 'set data.groupBy, or use a column of type group',
        },
      );
    }
    // The test records of a split are in the training files.
    const isSplit = flags.data === undefined && split !== undefined;
    const files = flags.data ?? (isSplit ? train : test);
    if (files.length === 0) {
      throw new PaddletError('Usage', 'the job has no test files', { hint: 'pass the files with --data' });
    }
    const labels = flags.labels ?? (flags.data === undefined ? testLabels : []);
    const place = {
      host,
      folder: resolve(flags['data-dir'] ?? record.dataDir),
      cacheFolder: resolve(flags['cache-dir']),
      corruptChunks: record.job.data.corruptChunks,
    };
    const progress = this.progress('evaluating');
    const onTask = (done: number, total: number): void => progress.update(done, total);
    try {
      const part = isSplit ? ('test' as const) : undefined;
      const options = { place, clock: host.clock, record, files, labels, part, topK, jobFolder: folder, onTask };
      const scored = await withModel((client, signal) => evaluateFiles({ ...options, client, signal }));
      this.show(record.job.name, folder, scored);
    } finally {
      progress.end();
    }
  }

  private show(job: string, folder: string | undefined, { from, metrics, bad, dataset }: Scored<Evaluated>): void {
    const files = dataset.index.files.map(({ path }) => path);
    const listed = folder === undefined ? {} : listedIn(folder, bad);
    this.output({ job, model: from, files, ...metrics, bad, ...listed }, () => {
      const badText = bad > 0 ? `, ${bad} bad` : '';
      return [`${files.join(', ')}: ${scoredText(metrics)}${badText}`, ...listedText(listed)].join('\n');
    });
  }
}
