import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { EXPORT_FORMATS, exportFile, exportSince } from '../../checkpoint/export/files.ts';
import { chooseVariables } from '../../checkpoint/set/checkpoint-set.ts';
import { contentBytes } from '../../checkpoint/set/content.ts';
import { bytesText } from '../base/bytes-text.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { pathArg } from '../base/named-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { ofJobFlags, openFound, varsFlags } from './find-checkpoint.ts';

export default class CheckpointExportCommand extends PaddletCommand<typeof CheckpointExportCommand> {
  static override summary = 'Write a checkpoint as one model file: safetensors, npz or CSV';
  static override description =
    `Merges the files of all pservers, and sorts the rows of each table by id. The arrays are named sparse/TABLE/ids,
sparse/TABLE/values and dense/NAME/values. With --state, the optimizer state (slot.NAME) and the update counts (steps)
are added.

CSV output is a new folder with one file for each table and dense parameter. If --vars selects a single table or dense
parameter, and --output ends in .csv, the output is a single file.

With --since, the output has only what has changed since an earlier export: the rows that are new or have changed. The
ids that only the earlier export has are in sparse/TABLE/gone. All dense parameters are included.

The command first checks the files of the checkpoint for damage. The write is atomic, and memory use is bounded.`;
  static override examples = [
    {
      command: '<%= config.bin %> checkpoint export clicks --as safetensors --output model.safetensors',
      description: 'Export the newest checkpoints of the job `clicks`.',
    },
    {
      command: '<%= config.bin %> checkpoint export /backup/clicks --as npz --output clicks.npz --state',
      description: 'Export with optimizer state for NumPy: numpy.load("clicks.npz")["sparse/emb/values"].',
    },
    {
      command: '<%= config.bin %> checkpoint export clicks --as csv --vars w --output w.csv --json',
      description: 'Export the table w as one CSV file with the columns id, v0, v1, …',
    },
    {
      command: '<%= config.bin %> checkpoint export clicks --as npz --since monday.safetensors --output changes.npz',
      description: 'Export only what has changed since an earlier export.',
    },
  ];
  static override args = pathArg;
  static override flags = {
    ...jobFlags,
    timeout: storeTimeoutFlag,
    ...ofJobFlags,
    ...varsFlags,
    as: Flags.option({ options: EXPORT_FORMATS, required: true, description: 'Format of the output.' })(),
    output: Flags.string({
      char: 'o',
      required: true,
      helpValue: 'PATH',
      description: 'File to write, or for CSV a new folder.',
    }),
    since: Flags.string({
      helpValue: 'FILE',
      description: 'Earlier export as safetensors. Write only what has changed since. Not with --as csv.',
    }),
    state: Flags.boolean({ description: 'Include optimizer state and update counts.' }),
    replace: Flags.boolean({ description: 'Overwrite existing files.' }),
  };

  override async execute(): Promise<void> {
    const { flags, args } = this;
    const { state = false, as: format, replace, since } = flags;
    if (since !== undefined && format === 'csv')
      throw new PaddletError('Usage', '--since needs --as safetensors or npz, got csv');
    const host = this.host('checkpoint');
    const signal = this.interruption();
    const { found, set } = await openFound({
      path: args.path,
      typed: this.typed,
      flags,
      host,
      signal,
      which: 'newest',
    });
    const progress = this.progress('exporting');
    try {
      const variables = chooseVariables(set.facts.parameters, flags.vars);
      // Rows that are compared are read twice: the first time to count them.
      const total = (since === undefined ? 1 : 2) * (await contentBytes(set, variables));
      let done = 0;
      const onBytes = (bytes: number): void => {
        done += bytes;
        progress.update(Math.min(done, total), total, bytesText(done));
      };
      const out = resolve(flags.output);
      const options = { ...host, set, variables, state, format, replace, out, signal, onBytes };
      const exported = await (since === undefined ? exportFile(options) : exportSince(options, resolve(since)));
      progress.end();
      this.output({ job: set.facts.jobName, from: found.from, format, state, ...exported }, () =>
        [
          ...exported.dense.map(({ name, shape }) => `${name}: [${shape.join(', ')}]`),
          ...exported.tables.map(({ name, rows, width, gone }) =>
            gone === undefined
              ? `${name}: ${rows} rows of ${width}`
              : `${name}: ${rows} rows of ${width} changed, ${gone} gone`,
          ),
          ...exported.paths,
        ].join('\n'),
      );
    } finally {
      progress.end();
      await set.close();
    }
  }
}
