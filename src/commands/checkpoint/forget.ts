import { Flags } from '@oclif/core';
import { forgetFiles } from '../../checkpoint/registry/forgotten.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

export default class CheckpointForgetCommand extends PaddletCommand<typeof CheckpointForgetCommand> {
  static override summary = 'Let a job continue without lost checkpoint files';
  static override description =
    `If a pserver takes over shards but cannot find the published files that contain them, it waits for the files. This
command gives up the files of one pserver that are lost for good. All pservers then continue without the files that
they cannot find; files that they can find are still loaded.

The job repeats the training that was lost. In async mode, trainers repeat the finished tasks whose updates were lost.
In sync mode, all pservers go back to an older cut, and the job repeats the rounds since then.`;
  static override examples = [
    {
      command: '<%= config.bin %> checkpoint forget clicks --index 0',
      description: 'Continue the job `clicks` after the files of pserver 0 were lost for good.',
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
      description: 'Index of the pserver whose published files are lost.',
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
