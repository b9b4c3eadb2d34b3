import { Flags } from '@oclif/core';
import { forgetFiles } from '../../checkpoint/registry/forgotten.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

export default class CheckpointForgetCommand extends PaddletCommand<typeof CheckpointForgetCommand> {
  static override summary = 'Continue without the checkpoint files of a pserver that are lost';
  static override description =
    `A pserver that starts and cannot find the files it has published waits for them. This command tells it to continue
without those that it cannot find. What they contained is trained again: in async mode the finished tasks that this
pserver lacks, in sync mode the rounds since an older cut, on all pservers. Files that it can find are still loaded.`;
  static override examples = [
    {
      command: '<%= config.bin %> checkpoint forget --index 0',
      description: 'The files of pserver 0 are lost for good; the only job in ./.paddlet.',
    },
  ];
  static override flags = {
    ...jobFlags,
    timeout: storeTimeoutFlag,
    index: Flags.integer({ min: 0, required: true, helpValue: 'N', description: 'Index of the pserver.' }),
  };

  override async execute(): Promise<void> {
    const { index } = this.flags;
    const host = this.host('checkpoint');
    await withJob({ flags: this.flags, host, signal: this.interruption(), access: 'write' }, async (job) => {
      const files = await job.retryStore(() => forgetFiles(job.store, job.keys, index));
      this.output({ job: job.record.job.name, index, files }, () =>
        files.length === 0
          ? `pserver ${index} has not published any files`
          : `pserver ${index} continues without those of these files that it cannot find:\n${files.join('\n')}`,
      );
    });
  }
}
