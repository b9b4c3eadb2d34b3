import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { refuseOtherFormat } from '../../data/first-records.ts';
import { DATA_FORMATS } from '../../data/formats/registry.ts';
import { loadOrBuildIndex } from '../../data/index-file.ts';
import { odditiesOf } from '../../data/oddities.ts';
import type { DataIndex } from '../../data/source.ts';
import { cutTasks } from '../../data/tasks.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { cacheFlags, dataFlags, labelsFlag, PaddletCommand } from '../base-command.ts';

export default class DataIndexCommand extends PaddletCommand<typeof DataIndexCommand> {
  static override summary = 'Index data files: count records, find feature and label bounds';
  static override description =
    `Reads the files once and keeps the index in the cache, where a job that trains on them finds it. Files with the same
digest give the same tasks. Single bad records are counted as records here; training reports them. A file that begins
with records of another format is refused.`;
  static override examples = [
    { command: '<%= config.bin %> data index a9a/a9a.gz --format libsvm', description: 'Index one file.' },
    {
      command: "<%= config.bin %> data index 'logs/*.gz' extra/ --format libfm --records-per-task 10000",
      description: 'All files that match a glob, and those in a folder.',
    },
    {
      command: '<%= config.bin %> data index mnist/train-images-idx3-ubyte.gz --format idx --json',
      description: 'JSON output for a script. The label files of idx files are found by name.',
    },
  ];
  static override strict = false;
  static override args = {
    path: Args.string({ required: true, description: 'A file, a folder or a glob; more may follow.' }),
  };
  static override flags = {
    ...dataFlags,
    ...cacheFlags,
    format: Flags.option({
      options: DATA_FORMATS,
      required: true,
      description: 'Format of the files.',
    })(),
    labels: labelsFlag,
    'label-weights': Flags.boolean({
      description: 'Labels may have a weight, as in 1:0.5 (data.labelWeights of the job).',
    }),
    'records-per-task': Flags.integer({
      default: 1000,
      min: 1,
      max: 2 ** 31 - 1,
      description: 'Records per task (data.recordsPerTask of the job).',
    }),
  };

  override async execute(): Promise<void> {
    const what = this.positional();
    refuseEmpty(what, 'the argument PATH');
    const recordsPerTask = this.flags['records-per-task'];
    const { labels, format } = this.flags;
    const place = {
      host: this.host(),
      folder: resolve(this.flags['data-dir'] ?? '.'),
      cacheFolder: resolve(this.flags['cache-dir']),
    };
    const progress = this.progress('indexing');
    let bytes = 0;
    const onBytes = (count: number): void => {
      bytes += count;
      progress.update(0, 0, `${(bytes / 1e6).toFixed(0)} MB read`);
    };
    try {
      await refuseOtherFormat(place, { what, format, mayHaveWeight: this.flags['label-weights'] });
      const index = await loadOrBuildIndex(place, { what, format, recordsPerTask, onBytes, ...(labels && { labels }) });
      for (const { message, hint } of odditiesOf([index.traits])) place.host.log.warn(`${message}: ${hint}`);
      const tasks = cutTasks(index, recordsPerTask).length;
      const { chunks, ...facts } = index;
      this.output({ ...facts, chunks: chunks.length, tasks, recordsPerTask }, () => this.describe(index, tasks));
    } finally {
      progress.end();
    }
  }

  private describe(index: DataIndex, tasks: number): string {
    const columns = [{ head: 'file' }, { head: 'records', align: 'right' }, { head: 'bytes', align: 'right' }] as const;
    const files = this.table(
      columns,
      index.files.map(({ path, records, bytes }) => [path, records, bytes]),
    );
    const bounds = `feature bound ${index.featureBound}, label bound ${index.labelBound}`;
    return `${files}\n\n${index.records} records in ${tasks} tasks; ${bounds}\ndigest ${index.digest}`;
  }
}
