import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { chooseRecordsPerTask } from '../../data/choose-records-per-task.ts';
import type { NumberStatistics } from '../../data/columns/statistics.ts';
import { refuseOtherFormat } from '../../data/first-records.ts';
import { DATA_FORMATS, formatOf } from '../../data/formats/registry.ts';
import type { IndexRequest } from '../../data/index-builder.ts';
import { loadOrBuildIndex } from '../../data/index-file.ts';
import { odditiesOf } from '../../data/oddities.ts';
import type { Batches } from '../../data/records-per-task.ts';
import type { DataIndex } from '../../data/source.ts';
import { cutTasks } from '../../data/tasks.ts';
import { USUAL_BATCHES } from '../../job/fields.ts';
import { loadJob } from '../../job/load-job.ts';
import { columnSpecOf, type Job, type RequestedJob } from '../../job/schema.ts';
import { selectedOf } from '../../roles/master/dataset.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { cacheFlags, dataFlagsElse, labelsFlag, PaddletCommand } from '../base-command.ts';

interface Requested extends Omit<IndexRequest, 'what' | 'recordsPerTask'> {
  readonly recordsPerTask: RequestedJob['data']['recordsPerTask'];
  /** `auto` depends on these. */
  readonly batches: Batches;
  readonly mayHaveWeight: boolean;
  readonly corruptChunks: Job['data']['corruptChunks'];
}

export default class DataIndexCommand extends PaddletCommand<typeof DataIndexCommand> {
  static override summary = 'Index data files: count records, and find the ranges of features and labels';
  static override description =
    `Reads the files once, and writes the index to the cache. A job that trains on these files then finds the index
there. If two indexes have the same digest, the files are divided into the same tasks. The index counts bad records
like all other records; only training reports them. paddlet refuses a file whose first records are in another format.

With --job, paddlet indexes the files as training files of that job. The format, columns, split, sampling, label
weights and records per task come from the job file.`;
  static override examples = [
    { command: '<%= config.bin %> data index a9a/a9a.gz --format libsvm', description: 'Index one file.' },
    {
      command: "<%= config.bin %> data index 'logs/*.gz' extra/ --format libfm --records-per-task 10000",
      description: 'Index all files that match a glob, and the files in a folder.',
    },
    {
      command: '<%= config.bin %> data index log.csv --job clicks.yaml',
      description: 'Index a CSV file whose columns a job file defines.',
    },
    {
      command: '<%= config.bin %> data index mnist/train-images-idx3-ubyte.gz --format idx --json',
      description: 'Index an idx file and print JSON for a script. paddlet finds the label file by its name.',
    },
  ];
  static override strict = false;
  static override args = {
    path: Args.string({ required: true, description: 'File, folder or glob to read. May be repeated.' }),
  };
  static override flags = {
    ...dataFlagsElse('the current folder'),
    ...cacheFlags,
    format: Flags.option({
      options: DATA_FORMATS,
      description: 'Format of the input. For formats with columns, such as csv, use --job instead.',
      exclusive: ['job'],
    })(),
    job: Flags.string({
      helpValue: 'FILE',
      description: 'Job file that defines the format and the columns of the data.',
      exclusive: ['label-weights', 'records-per-task'],
    }),
    labels: labelsFlag,
    'label-weights': Flags.boolean({
      description: 'Accept labels with a weight, such as 1:0.5, like data.labelWeights in a job file.',
    }),
    'records-per-task': Flags.integer({
      min: 1,
      max: 2 ** 31 - 1,
      helpValue: 'N',
      description:
        'Number of records per task, like data.recordsPerTask in a job file. Default: chosen as for a job with default batchSize and lanes.',
    }),
  };

  override async execute(): Promise<void> {
    const what = this.positional();
    refuseEmpty(what, 'the argument PATH');
    const { labels } = this.flags;
    const { mayHaveWeight, corruptChunks, recordsPerTask: wanted, batches, ...facts } = await this.requested();
    const place = {
      host: this.host(),
      folder: resolve(this.flags['data-dir'] ?? '.'),
      cacheFolder: resolve(this.flags['cache-dir']),
      corruptChunks,
    };
    const progress = this.progress('indexing');
    let bytes = 0;
    const onBytes = (count: number): void => {
      bytes += count;
      progress.update(0, 0, `${(bytes / 1e6).toFixed(0)} MB read`);
    };
    try {
      await refuseOtherFormat(place, { what, ...facts, mayHaveWeight });
      const request = { what, ...facts, onBytes, ...(labels && { labels }) };
      const recordsPerTask = wanted === 'auto' ? await chooseRecordsPerTask(place, request, batches) : wanted;
      const index = await loadOrBuildIndex(place, { ...request, recordsPerTask });
      for (const { message, hint } of odditiesOf([index.traits])) place.host.log.warn(`${message}: ${hint}`);
      const tasks = cutTasks(index, recordsPerTask).length;
      const { chunks, ...shown } = index;
      this.output({ ...shown, chunks: chunks.length, tasks, recordsPerTask }, () =>
        this.describe(index, `${tasks} tasks of up to ${recordsPerTask} records`),
      );
    } finally {
      progress.end();
    }
  }

  /** What the flags, or the job, say of the files. */
  private async requested(): Promise<Requested> {
    const { format, job: path, 'label-weights': weights, 'records-per-task': recordsPerTask = 'auto' } = this.flags;
    if (path !== undefined) {
      const { job } = await loadJob({ disk: this.host().disk, path, sets: [] });
      const { data } = job;
      const columns = columnSpecOf(job);
      const selected = selectedOf(job, 'train');
      const { format: ofJob, recordsPerTask: ofTask, labelWeights: mayHaveWeight, corruptChunks } = data;
      const asRead = { format: ofJob, columns, selected, mayHaveWeight, corruptChunks };
      return { ...asRead, recordsPerTask: ofTask, batches: job.training };
    }
    if (format === undefined) throw new PaddletError('Usage', 'expected --format FORMAT or --job FILE');
    if (formatOf(format).input !== 'columns') {
      const batches = USUAL_BATCHES;
      return { format, recordsPerTask, batches, mayHaveWeight: weights, corruptChunks: 'fail' };
    }
    throw new PaddletError('Usage', `a job file must describe the columns of ${format} files`, {
      hint: 'pass --job FILE instead of --format',
    });
  }

  private describe(index: DataIndex, tasks: string): string {
    const columns = [{ head: 'file' }, { head: 'records', align: 'right' }, { head: 'bytes', align: 'right' }] as const;
    const files = this.table(
      columns,
      index.files.map(({ path, records, bytes }) => [path, records, bytes]),
    );
    const ofFields = index.fieldBound > 0 ? `field bound ${index.fieldBound}, ` : '';
    const bounds =
      index.statistics === undefined
        ? `feature bound ${index.featureBound}, ${ofFields}label bound ${index.labelBound}`
        : `label bound ${index.labelBound}`;
    const numbers = index.statistics?.length ? `\n\n${this.describeNumbers(index.statistics)}` : '';
    return `${files}${numbers}\n\n${index.records} records in ${tasks}; ${bounds}\ndigest ${index.digest}`;
  }

  private describeNumbers(statistics: readonly NumberStatistics[]): string {
    const heads = ['with value', 'missing', 'mean', 'deviation', 'smallest', 'largest'];
    const columns = [{ head: 'number' }, ...heads.map((head) => ({ head, align: 'right' as const }))];
    return this.table(
      columns,
      statistics.map(({ name, present, missing, mean, deviation, min, max }) => [
        name,
        present,
        missing,
        ...[mean, deviation, min, max].map((number) => String(Number(number.toPrecision(6)))),
      ]),
    );
  }
}
