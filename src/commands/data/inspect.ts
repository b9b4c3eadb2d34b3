import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { eitherOf, formatOf, isConverted } from '../../data/formats/registry.ts';
import { compareTables, type TableComparison } from '../../data/inspection/compare.ts';
import { lookAsJob } from '../../data/inspection/job-columns.ts';
import { firstFilled, type Look, lookAtFirstOf } from '../../data/inspection/look.ts';
import { typeOf } from '../../data/inspection/types.ts';
import { type DataPlace, resolveFiles } from '../../data/place.ts';
import { loadJob } from '../../job/load-job.ts';
import { columnSpecOf } from '../../job/schema.ts';
import { widestRule } from '../../roles/master/dataset.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { cacheFlags, dataFlagsElse, PaddletCommand } from '../base-command.ts';
import { comparisonText, denseText, type Screen, sparseText, tableText } from './inspection-text.ts';
import { jobLookText } from './job-look-text.ts';

/** Width of an output that is not a terminal. */
const USUAL_WIDTH = 80;
/** Frequent values of each column that scripts get. */
const SHOWN_VALUES = 20;

export default class DataInspect extends PaddletCommand<typeof DataInspect> {
  static override summary = 'Show what a data file contains, and how paddlet would read it';
  static override description =
    `Reads the file once, and unpacks gzip, zstd and RecordIO files. If the file is a table (CSV, JSON lines, Parquet),
first shows the syntax of the file. Then shows each column with the type that fits, the missing and distinct values,
and the most frequent values or the range. Also reports columns that nearly equal the label.

With a second file, shows the values and ranges that do not occur in the first file. With a job file, shows the columns
as the job reads them.`;
  static override examples = [
    { command: '<%= config.bin %> data inspect adult/adult.data.gz', description: 'Show what a file contains.' },
    {
      command: '<%= config.bin %> data inspect adult/adult.data.gz adult/adult.test.gz',
      description: 'Also show what a second file contains that the first file does not.',
    },
    {
      command: '<%= config.bin %> data inspect adult/adult.data.gz --job examples/adult-lr.yaml --json',
      description: 'Show the file as a job reads it, as JSON for a script.',
    },
  ];
  static override args = {
    file: Args.string({
      required: true,
      description: 'File, folder or glob; paddlet inspects only the first file.',
    }),
    // Text that waits on stdin is not a file name.
    other: Args.string({ ignoreStdin: true, description: 'File to compare with FILE.' }),
  };
  static override flags = {
    ...dataFlagsElse('the current folder'),
    ...cacheFlags,
    job: Flags.string({
      helpValue: 'FILE',
      description:
        'Job file that defines the format and the columns of the data. The format must be csv, tsv, interactions, jsonl or parquet.',
    }),
    label: Flags.string({
      helpValue: 'NAME',
      description: 'Name of the label column. Default: guessed from the names and values of the columns.',
      exclusive: ['job'],
    }),
    rows: Flags.integer({
      min: 1,
      max: 2 ** 53 - 1,
      helpValue: 'N',
      description: 'Number of records to read, starting with the first. Default: all.',
    }),
  };

  override async execute(): Promise<void> {
    const { file, other } = this.args;
    refuseEmpty(other === undefined ? [file] : [file, other], 'the argument FILE');
    const place = {
      host: this.host(),
      folder: resolve(this.flags['data-dir'] ?? '.'),
      cacheFolder: resolve(this.flags['cache-dir']),
    };
    const progress = this.progress('reading');
    let bytes = 0;
    const onBytes = (count: number): void => {
      bytes += count;
      progress.update(0, 0, `${(bytes / 1e6).toFixed(0)} MB read`);
    };
    try {
      if (this.flags.job !== undefined) await this.inspectAsJob(place, this.flags.job, onBytes);
      else await this.inspect(place, onBytes);
    } finally {
      progress.end();
    }
  }

  private async inspect(place: DataPlace, onBytes: (count: number) => void): Promise<void> {
    const { file, other } = this.args;
    const { rows: records, label } = this.flags;
    const paths = await resolveFiles(place, file);
    const look = await lookAtFirstOf(place, paths, { records, label, onBytes });
    if (other === undefined) {
      const more = paths.length === 1 ? '' : `\nIt is the first of ${paths.length} files that has records.`;
      this.output(shownLook(look), () => `${this.describe(look)}${more}`);
      return;
    }
    const second = await lookAtFirstOf(place, await resolveFiles(place, other), { records, onBytes, first: look });
    if (look.kind !== second.kind) {
      throw new PaddletError(
        'DataInvalid',
        `expected two files of the same kind, got ${look.kind} (${file}) and ${second.kind} (${other})`,
        {
          hint: 'give two files of the same format',
        },
      );
    }
    const comparison = look.kind === 'table' && second.kind === 'table' ? compareTables(look, second) : undefined;
    this.output({ files: [shownLook(look), shownLook(second)], comparison }, () =>
      this.describeBoth(look, second, comparison),
    );
  }

  private async inspectAsJob(place: DataPlace, path: string, onBytes: (count: number) => void): Promise<void> {
    const { file, other } = this.args;
    if (other !== undefined) {
      throw new PaddletError('Usage', `--job ${path}: expected one file, got ${other} as well`, {
        hint: 'to compare two files, omit --job',
      });
    }
    const { job } = await loadJob({ disk: place.host.disk, path, sets: [] });
    const spec = columnSpecOf(job);
    const { format } = job.data;
    if (spec === undefined) {
      throw new PaddletError('Usage', `${path} has no columns: its format is ${format}`, {
        hint: 'omit --job',
      });
    }
    if (!isConverted(formatOf(format))) {
      throw new PaddletError('Usage', `${path} has data.format ${format}, expected ${eitherOf(isConverted)}`, {
        hint: 'inspect the original file (the input of `paddlet data convert`), with the job file that was used to convert it',
      });
    }
    const options = { records: this.flags.rows, onBytes };
    const asJob = { ...place, corruptChunks: job.data.corruptChunks };
    const paths = await resolveFiles(asJob, file);
    const { look } = await firstFilled(asJob, paths, (one) =>
      lookAsJob(asJob, one, { format, spec, labels: widestRule(job) }, options),
    );
    this.output({ job: job.name, ...look }, () => jobLookText(look, job.name, this.screen()));
  }

  private screen(): Screen {
    return { table: (columns, rows) => this.table(columns, rows), width: process.stdout.columns || USUAL_WIDTH };
  }

  private describe(look: Look): string {
    switch (look.kind) {
      case 'table':
        return tableText(look, this.screen());
      case 'libsvm':
      case 'libffm':
        return sparseText(look, this.screen());
      case 'idx':
        return denseText(look, this.screen());
    }
  }

  private describeBoth(first: Look, second: Look, comparison: TableComparison | undefined): string {
    if (comparison === undefined) return `${this.describe(first)}\n\n${this.describe(second)}`;
    return `${this.describe(first)}\n\n${comparisonText(comparison, first.path, second.path, this.screen())}`;
  }
}

/** For scripts: with the types of columns, without what is there for comparisons. */
function shownLook(look: Look): object {
  if (look.kind === 'idx') return look;
  const { distinct: _, ...shown } = look;
  if (shown.kind !== 'table') return shown;
  const columns = shown.columns.map((facts) => ({ ...facts, ...typeOf(facts) }));
  return { ...shown, columns: columns.map((column) => ({ ...column, top: column.top.slice(0, SHOWN_VALUES) })) };
}
