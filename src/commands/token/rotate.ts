import { storeTimeoutFlag } from '../base/command-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { rotateToken } from './rotate-token.ts';

export default class TokenRotateCommand extends PaddletCommand<typeof TokenRotateCommand> {
  static override summary = 'Replace the join token of a job';
  static override description =
    `Puts another join token into the store. Running processes follow it: connections that exist keep working, new ones
need the new token, and the old one is of no use from then on. Use it when the old token may have been read.`;
  static override examples = [
    { command: '<%= config.bin %> token rotate', description: 'The only job in ./.paddlet.' },
    {
      command: '<%= config.bin %> token rotate --store etcd://127.0.0.1:2379 --chroot /paddlet/a9a-lr',
      description: 'One of several jobs in the same store.',
    },
  ];
  static override args = jobArg;
  static override flags = { ...jobFlags, timeout: storeTimeoutFlag };

  override async execute(): Promise<void> {
    const host = this.host('token');
    const flags = namedJob(this.args.job, this.flags, this.typed);
    await withJob({ flags, host, signal: this.interruption(), access: 'write' }, async (job) => {
      await rotateToken(job);
      const { name } = job.record.job;
      this.output({ job: name, rotated: true }, () => `job ${name} has a new join token`);
    });
  }
}
