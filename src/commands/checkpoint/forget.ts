import { Flags } from '@oclif/core';
import { forgetFiles } from '../../checkpoint/registry/forgotten.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

export default class CheckpointForgetCommand extends PaddletCommand<typeof CheckpointForgetCommand> {
  static override summary = 'Let a pserver continue without its lost checkpoint files';
  static override description =
    `A pserver that starts and cannot find its published files waits for them. This command tells the pserver to
continue without the missing files. Files that it can find are still loaded.

The lost training is done again. In async mode, these are the finished tasks that this pserver lacks. In sync mode,
these are the rounds since an older cut, on all pservers.`;
  static override examples = [
    {
      command: '<%= config.bin %> checkpoint forget clicks --index 0',
      description: 'Let pserver 0 of the job clicks continue after its files were lost for good.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    timeout: storeTimeoutFlag,
    index: Flags.integer({
      min: 0,
      required: true,
      helpValue: 'N',
      description: 'Index of the pserver whose files are lost.',
    }),
  };

  override async execute(): Promise<void> {
    const { index } = this.flags;
    const host = this.host('checkpoint');
    const flags = namedJob(this.args.job, this.flags, this.typed);
    await withJob({ flags, host, signal: this.interruption(), access: 'write' }, async (job) => {
      const files = await job.retryStore(() => forgetFiles(job.store, job.keys, index));
      this.output({ job: job.record.job.name, index, files }, () =>
        files.length === 0
          ? `pserver ${index} has not published any files`
          : `pserver ${index} continues without those of these files that it cannot find:\n${files.join('\n')}`,
      );
    });
  }
}
