import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { convertedPath, convertFile } from '../../data/convert.ts';
import type { Converted } from '../../data/formats/columns/write-file.ts';
import { eitherOf, formatOf, isConverted } from '../../data/formats/registry.ts';
import { resolveFiles } from '../../data/place.ts';
import { loadJob } from '../../job/load-job.ts';
import { columnSpecOf } from '../../job/schema.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { cacheFlags, dataFlagsElse, PaddletCommand } from '../base-command.ts';

const NEXT = `To train on them, in the job: set data.format to columns, name these files in data.train and data.test, and remove
data.csv, data.record and the position, path, from or value of each column; columns that it has by default have to be
written. The texts of data.csv.missing go to data.missing. Records are scored as text: predict --format csv.`;

interface Written extends Converted {
  readonly from: string;
  readonly to: string;
}

export default class DataConvertCommand extends PaddletCommand<typeof DataConvertCommand> {
  static override summary = "Convert text or Parquet files to paddlet's columns format";
  static override description =
    `Parses each file once, and writes the values of its columns in the form that a job trains on: numbers, category
ids and labels. A job with \`data.format: columns\` then reads the new files without parsing. Such a job may change the
normalization, the quantiles and the crosses, but not the settings that determine ids and labels. Bad records keep
their place.`;
  static override examples = [
    {
      command: '<%= config.bin %> data convert log.csv --job clicks.yaml --output columns',
      description: 'Write columns/log.columns.',
    },
    {
      command: "<%= config.bin %> data convert 'log/*/*.csv.gz' --job clicks.yaml --output columns --json",
      description:
        'Convert all files that match a glob, keep their folders below columns, and print JSON for a script.',
    },
  ];
  static override strict = false;
  static override args = {
    path: Args.string({ required: true, description: 'File, folder or glob to read. May be repeated.' }),
  };
  static override flags = {
    ...dataFlagsElse('the current folder'),
    ...cacheFlags,
    job: Flags.string({
      required: true,
      helpValue: 'FILE',
      description: 'Job file that defines the format and the columns of the data.',
    }),
    output: Flags.string({
      char: 'o',
      required: true,
      helpValue: 'FOLDER',
      description: 'Folder to write to; created if missing.',
    }),
    replace: Flags.boolean({ description: 'Overwrite existing files.' }),
  };

  override async execute(): Promise<void> {
    const what = this.positional();
    refuseEmpty(what, 'the argument PATH');
    const { job: jobPath, output, replace } = this.flags;
    const host = this.host();
    const { job } = await loadJob({ disk: host.disk, path: jobPath, sets: [] });
    const { format } = job.data;
    const columns = columnSpecOf(job);
    if (columns === undefined || !isConverted(formatOf(format))) {
      throw new PaddletError('Usage', `${jobPath} has data.format ${format}, expected ${eitherOf(isConverted)}`, {
        hint: 'set data.format to one of these; other formats cannot be converted, and columns files are already converted',
      });
    }
    const place = {
      host,
      folder: resolve(this.flags['data-dir'] ?? '.'),
      cacheFolder: resolve(this.flags['cache-dir']),
      corruptChunks: job.data.corruptChunks,
    };
    const targets = targetsOf(await resolveFiles(place, what), resolve(output));
    if (!replace) await this.refuseExisting(targets.map(({ to }) => to));
    const progress = this.progress('converting');
    let read = 0;
    const signal = this.interruption();
    const onBytes = (count: number): void => {
      signal.throwIfAborted();
      read += count;
      progress.update(0, 0, `${(read / 1e6).toFixed(0)} MB read`);
    };
    const written: Written[] = [];
    try {
      for (const { from, to } of targets) {
        written.push({ from, to, ...(await convertFile(place, from, to, { format, columns, onBytes })) });
      }
    } finally {
      progress.end();
    }
    this.output({ files: written }, () => this.describe(written));
  }

  private async refuseExisting(targets: readonly string[]): Promise<void> {
    for (const path of targets) {
      if (!(await this.host().disk.exists(path))) continue;
      throw new PaddletError('Usage', `${path} exists`, {
        hint: 'replace it with --replace, or choose another --output',
      });
    }
  }

  private describe(written: readonly Written[]): string {
    const right = ['records', 'bad', 'bytes'].map((head) => ({ head, align: 'right' as const }));
    const rows = written.map(({ to, records, bad, bytes }) => [to, records, bad, bytes]);
    return `${this.table([{ head: 'file' }, ...right], rows)}\n\n${NEXT}`;
  }
}

function targetsOf(paths: readonly string[], folder: string): { from: string; to: string }[] {
  const sources = new Map<string, string>();
  return paths.map((from) => {
    const to = convertedPath(folder, from);
    const other = sources.get(to);
    if (other !== undefined) {
      throw new PaddletError('Usage', `${other} and ${from} would both be written to ${to}`, {
        hint: 'convert them into different folders, or write their paths relative to --data-dir',
      });
    }
    sources.set(to, from);
    return { from, to };
  });
}
