import { Flags } from '@oclif/core';
import { chooseVariables } from '../../checkpoint/set/checkpoint-set.ts';
import { contentBytes } from '../../checkpoint/set/content.ts';
import { inspectCheckpoint } from '../../checkpoint/set/inspect.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { pathArg } from '../base/named-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { aboutOf } from './about.ts';
import { ofJobFlags, openFound, varsFlags } from './find-checkpoint.ts';
import { inspectionText } from './inspection-text.ts';

export default class CheckpointInspectCommand extends PaddletCommand<typeof CheckpointInspectCommand> {
  static override summary = 'Show what a checkpoint contains';
  static override description =
    `Shows the training position, and for each table and dense parameter its shape, rows, bytes, minimum, maximum,
mean, norm, and counts of NaN and infinity. Also shows a digest of each table, which depends neither on the order of
the rows nor on the number of files. The command reads the values of all shards once, in bounded memory. The command
does not check the files for damage; use \`paddlet checkpoint verify\` for that.`;
  static override examples = [
    {
      command: '<%= config.bin %> checkpoint inspect clicks',
      description: 'Show the newest checkpoints of the job `clicks`.',
    },
    {
      command: '<%= config.bin %> checkpoint inspect /backup/clicks --vars "emb*" --top 10',
      description:
        'Show the tables whose names start with emb, and the ten rows of each table that have the largest norms.',
    },
    {
      command: '<%= config.bin %> checkpoint inspect clicks --store etcd://h1:2379 --digest --json',
      description: 'Print the same for a job in etcd as JSON, with modelDigest and stateDigest.',
    },
  ];
  static override args = pathArg;
  static override flags = {
    ...jobFlags,
    timeout: storeTimeoutFlag,
    ...ofJobFlags,
    ...varsFlags,
    top: Flags.integer({
      default: 0,
      min: 0,
      max: 10_000,
      helpValue: 'N',
      description: 'Number of rows to show from each table: those with the largest norms.',
    }),
    digest: Flags.boolean({
      description:
        'Also compute modelDigest and stateDigest, which the result of a job contains. The command then reads the values a second time.',
    }),
  };

  override async execute(): Promise<void> {
    const { flags, args } = this;
    const host = this.host('checkpoint');
    const signal = this.interruption();
    const { set } = await openFound({ path: args.path, typed: this.typed, flags, host, signal, which: 'newest' });
    const progress = this.progress('reading');
    try {
      const variables = chooseVariables(set.facts.parameters, flags.vars);
      const total = (await contentBytes(set, variables)) * (flags.digest ? 2 : 1);
      let done = 0;
      const onBytes = (bytes: number): void => {
        done += bytes;
        progress.update(Math.min(done, total), total, `${(done / 1e6).toFixed(0)} MB`);
      };
      const { top, digest: digests } = flags;
      const inspection = await inspectCheckpoint(set, { variables, top, digests, signal, onBytes });
      if (inspection.positions.complaint !== undefined) host.log.warn(inspection.positions.complaint);
      progress.end();
      const about = aboutOf(set);
      this.output({ ...inspection, job: about }, () =>
        inspectionText({ inspection, about, table: this.table.bind(this), nowSeconds: host.clock.wallSeconds() }),
      );
    } finally {
      progress.end();
      await set.close();
    }
  }
}
