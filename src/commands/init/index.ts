import { basename, dirname, extname, isAbsolute, relative, resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { type Look, lookAtFirstOf } from '../../data/inspection/look.ts';
import { type DataPlace, resolveFiles } from '../../data/place.ts';
import { writeWhole } from '../../data/whole-file.ts';
import { parseJobFile } from '../../job/load-job.ts';
import { NAMED_MODELS } from '../../model/registry.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { cacheFlags, dataFlagsElse, PaddletCommand } from '../base-command.ts';
import { jobText, stemOf, type WrittenJob } from './job-text.ts';

const STDOUT = '-';
const DEFAULT_OUTPUT = 'job.yaml';

export default class Init extends PaddletCommand<typeof Init> {
  static override summary = 'Write a job file for a data file';
  static override description =
    `Inspects the data as \`paddlet data inspect\` does, and writes a job file that specifies the format, the columns,
the label and the model. Comments in the file explain each guess. Review the job file before you train.`;
  static override examples = [
    { command: '<%= config.bin %> init --data adult/adult.data.gz', description: 'Write job.yaml.' },
    {
      command:
        '<%= config.bin %> init --data adult/adult.data.gz --test adult/adult.test.gz --model fm --output adult-fm.yaml',
      description: 'Write adult-fm.yaml, with a separate test file and a chosen model.',
    },
    {
      command: '<%= config.bin %> init --data log.csv --label clicked --output -',
      description: 'Choose the label column, and print the job file instead of writing it.',
    },
  ];
  static override flags = {
    ...dataFlagsElse('the current folder'),
    ...cacheFlags,
    data: Flags.string({
      required: true,
      helpValue: 'FILE',
      description: 'File, folder or glob of training data. paddlet inspects only the first file.',
    }),
    test: Flags.string({
      helpValue: 'FILE',
      description: 'File, folder or glob of test data. Default: paddlet holds out a part of the training data.',
    }),
    model: Flags.option({
      options: NAMED_MODELS,
      description: 'Model to train. Default: chosen to suit the label.',
    })(),
    label: Flags.string({
      helpValue: 'NAME',
      description: 'Name of the label column. Default: guessed from the names and values of the columns.',
    }),
    output: Flags.string({
      char: 'o',
      default: DEFAULT_OUTPUT,
      helpValue: 'FILE',
      description: 'Job file to write; - for stdout.',
    }),
    replace: Flags.boolean({ description: 'Overwrite existing files.' }),
    name: Flags.string({
      helpValue: 'NAME',
      description:
        'Name of the job. Default: the name of the job file without its extension; if --output is job.yaml or -, the name of the data.',
    }),
    rows: Flags.integer({
      min: 1,
      max: 2 ** 53 - 1,
      helpValue: 'N',
      description: 'Number of records to read, starting with the first. Default: all.',
    }),
  };

  override async execute(): Promise<void> {
    const { data, test, output, json, replace } = this.flags;
    refuseEmpty([data], '--data');
    refuseEmpty(test === undefined ? [] : [test], '--test');
    refuseEmpty([output], '--output');
    if (json && output === STDOUT) {
      throw new PaddletError('Usage', '--json and --output - cannot be combined: both write to stdout', {
        hint: 'write the job to a file: --output FILE',
      });
    }
    const host = this.host();
    const found = output === STDOUT ? undefined : await host.disk.inspect(resolve(output));
    if (found !== undefined && found.kind !== 'file') {
      throw new PaddletError('Usage', `${output} is not a file`, { hint: 'give the path of a file, or - for stdout' });
    }
    if (found !== undefined && !replace) {
      throw new PaddletError('Usage', `${output} exists already`, {
        hint: 'choose another file with --output, or overwrite this file with --replace',
      });
    }
    const { name, text, summary } = await this.write(host);
    // Not before it is known to be a job.
    parseJobFile(output, text);
    const dataDir = this.flags['data-dir'];
    const file = output === STDOUT ? 'FILE' : output;
    const where = dataDir === undefined ? file : `${file} --data-dir ${dataDir}`;
    const next = [`paddlet doctor ${where}`, `paddlet run ${where}`, `paddlet predict ${name} --data FILE`];
    const nextText = `next: ${next.join('\n      ')}`;
    if (output === STDOUT) {
      process.stdout.write(text);
      process.stderr.write(`${nextText}\n`);
      return;
    }
    await writeWhole(host, resolve(output), (append) => append(Buffer.from(text)));
    this.output({ path: output, summary, next }, () => `wrote ${output}: ${summary}\n${nextText}`);
  }

  private async write(host: Host): Promise<WrittenJob> {
    const { data, test, model, output, name } = this.flags;
    const folder = resolve(this.flags['data-dir'] ?? '.');
    const place = { host, folder, cacheFolder: resolve(this.flags['cache-dir']) };
    const { look, files } = await this.look(place, data);
    const testLook = test === undefined ? undefined : (await this.look(place, test, look)).look;
    // Where the paths of the job start, unless --data-dir says it.
    const jobFolder = output === STDOUT ? '.' : dirname(output);
    const pathOf = (path: string): string =>
      this.flags['data-dir'] === undefined ? pathFrom(resolve(jobFolder), path) : path;
    const named = output === STDOUT || output === DEFAULT_OUTPUT ? '' : stemOf(basename(output, extname(output)));
    return jobText({
      name: name ?? (named || undefined),
      train: pathOf(data),
      test: test && pathOf(test),
      look,
      files,
      testLook,
      model,
    });
  }

  private async look(place: DataPlace, what: string, first?: Look): Promise<{ look: Look; files: number }> {
    const paths = await resolveFiles(place, what);
    const progress = this.progress(`reading ${what}`);
    let bytes = 0;
    const onBytes = (count: number): void => {
      bytes += count;
      progress.update(0, 0, `${(bytes / 1e6).toFixed(0)} MB read`);
    };
    try {
      // Test files may lack what is named.
      const label = first === undefined ? this.flags.label : undefined;
      const look = await lookAtFirstOf(place, paths, { records: this.flags.rows, label, first, onBytes });
      return { look, files: paths.length };
    } finally {
      progress.end();
    }
  }
}

/** A path from the current folder as seen from another folder; absolute if it is outside that folder. */
function pathFrom(folder: string, path: string): string {
  if (isAbsolute(path)) return path;
  const seen = relative(folder, resolve(path));
  return seen.startsWith('..') ? resolve(path) : seen;
}
