import { storeTimeoutFlag } from '../base/command-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { rotateToken } from './rotate-token.ts';

export default class TokenRotateCommand extends PaddletCommand<typeof TokenRotateCommand> {
  static override summary = 'Replace the join token of a job';
  static override description =
    `The join token is the secret that the processes of a job need to connect to each other. This command writes a new
join token to the store. Running processes adopt the new token: existing connections keep working, and new connections
need the new token. The old token no longer works. Rotate the token if someone else may have read it.`;
  static override examples = [
    { command: '<%= config.bin %> token rotate clicks', description: 'Replace the join token of the job `clicks`.' },
    {
      command: '<%= config.bin %> token rotate a9a-lr --store etcd://127.0.0.1:2379',
      description: 'Replace the join token of one of several jobs in the same store.',
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
