import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { type Look, lookAtFirstOf } from '../../data/inspection/look.ts';
import { type DataPlace, resolveFiles } from '../../data/place.ts';
import { writeWhole } from '../../data/whole-file.ts';
import { parseJobFile } from '../../job/load-job.ts';
import { NAMED_MODELS } from '../../model/registry.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { cacheFlags, dataFlags, PaddletCommand } from '../base-command.ts';
import { jobText, type WrittenJob } from './job-text.ts';

const STDOUT = '-';

export default class Init extends PaddletCommand<typeof Init> {
  static override summary = 'Write a job file for a data file';
  static override description =
    `Looks at the data as \`data inspect\` does, and writes a job file that trains on it: format, columns, label, model,
with the reason of each guess as a comment. Read it before you train.`;
  static override examples = [
    { command: '<%= config.bin %> init --data adult/adult.data.gz', description: 'Write job.yaml.' },
    {
      command:
        '<%= config.bin %> init --data adult/adult.data.gz --test adult/adult.test.gz --model fm --output adult-fm.yaml',
      description: 'With test files of its own and another model.',
    },
    { command: '<%= config.bin %> init --data log.csv --label clicked --output -', description: 'Print it.' },
  ];
  static override flags = {
    ...dataFlags,
    ...cacheFlags,
    data: Flags.string({
      required: true,
      helpValue: 'FILE',
      description: 'File, folder or glob to train on; the first file is looked at.',
    }),
    test: Flags.string({
      helpValue: 'FILE',
      description: 'File, folder or glob to test on. Default: a part of the training data.',
    }),
    model: Flags.option({ options: NAMED_MODELS, description: 'Default: what suits the label.' })(),
    label: Flags.string({
      helpValue: 'NAME',
      description: 'The column that is the label. Default: guessed by name, or by its values.',
    }),
    output: Flags.string({
      char: 'o',
      default: 'job.yaml',
      helpValue: 'FILE',
      description: 'Job file to write; - is the standard output.',
    }),
    force: Flags.boolean({ description: 'Overwrite the job file.' }),
    rows: Flags.integer({ min: 1, max: 2 ** 53 - 1, helpValue: 'N', description: 'Look at the first N records only.' }),
  };

  override async execute(): Promise<void> {
    const { data, test, output, json, force } = this.flags;
    refuseEmpty([data], '--data');
    refuseEmpty(test === undefined ? [] : [test], '--test');
    refuseEmpty([output], '--output');
    if (json && output === STDOUT) {
      throw new PaddletError('Usage', '--json and --output -: expected one of them', {
        hint: 'write the job to a file',
      });
    }
    const host = this.host();
    const found = output === STDOUT ? undefined : await host.disk.inspect(resolve(output));
    if (found !== undefined && found.kind !== 'file') {
      throw new PaddletError('Usage', `${output} is not a file`, { hint: 'name a file, or - for the standard output' });
    }
    if (found !== undefined && !force) {
      throw new PaddletError('Usage', `${output} exists already`, {
        hint: 'name another file with --output, or overwrite it with --force',
      });
    }
    const { text, summary } = await this.write(host);
    // Not before it is known to be a job.
    parseJobFile(output, text);
    if (output === STDOUT) {
      process.stdout.write(text);
      return;
    }
    await writeWhole(host, resolve(output), (append) => append(Buffer.from(text)));
    const dataDir = this.flags['data-dir'];
    const where = dataDir === undefined ? output : `${output} --data-dir ${dataDir}`;
    const next = [`paddlet doctor ${where}`, `paddlet run ${where}`];
    this.output({ path: output, summary, next }, () => `wrote ${output}: ${summary}\nnext: ${next.join('\n      ')}`);
  }

  private async write(host: Host): Promise<WrittenJob> {
    const { data, test, model, output } = this.flags;
    const folder = resolve(this.flags['data-dir'] ?? '.');
    const place = { host, folder, cacheFolder: resolve(this.flags['cache-dir']) };
    const { look, files } = await this.look(place, data);
    const testLook = test === undefined ? undefined : (await this.look(place, test, look)).look;
    // Where the paths of the job start, unless --data-dir says it.
    const jobFolder = output === STDOUT ? '.' : dirname(output);
    const pathOf = (path: string): string =>
      this.flags['data-dir'] === undefined ? pathFrom(resolve(jobFolder), path) : path;
    return jobText({ train: pathOf(data), test: test && pathOf(test), look, files, testLook, model });
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

/** Of a path from the current folder, as seen from another one; absolute where it leads out of that. */
function pathFrom(folder: string, path: string): string {
  if (isAbsolute(path)) return path;
  const seen = relative(folder, resolve(path));
  return seen.startsWith('..') ? resolve(path) : seen;
}
