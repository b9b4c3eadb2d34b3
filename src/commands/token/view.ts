import { PaddletError } from '../../base/errors.ts';
import { StoredJoinToken } from '../../cluster/job/join-token.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { pageLink } from '../base/page-link.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

export default class TokenViewCommand extends PaddletCommand<typeof TokenViewCommand> {
  static override summary = "Print the link to a running job's web page";
  static override description =
    `The master of a running job serves a web page that shows the job. The link contains the view token: anyone who has
the link can read the page, but cannot change anything. Keep the link as secret as a password. \`paddlet token rotate\`
makes the link invalid.`;
  static override examples = [
    { command: '<%= config.bin %> token view clicks', description: 'Print the link to the page of the job `clicks`.' },
    {
      command: '<%= config.bin %> token view a9a-lr --store etcd://127.0.0.1:2379',
      description: 'Print the link to the page of one of several jobs in the same store.',
    },
  ];
  static override args = jobArg;
  static override flags = { ...jobFlags, timeout: storeTimeoutFlag };

  override async execute(): Promise<void> {
    const host = this.host('token');
    const flags = namedJob(this.args.job, this.flags, this.typed);
    await withJob({ flags, host, signal: this.interruption() }, async ({ store, keys, record, retryStore }) => {
      const { name } = record.job;
      const master = await retryStore(() => store.get(keys.masterAddr));
      if (master === undefined) throw noMaster(name);
      const token = await retryStore(() => new StoredJoinToken({ ...host, store, keys }).current());
      if (token === undefined) throw noMaster(name);
      const link = pageLink(master.value, token);
      this.output({ job: name, link }, () => link);
    });
  }
}

const noMaster = (job: string): PaddletError =>
  new PaddletError('JobUnknown', `no master of job ${job} is registered, so its page is not served`, {
    hint: 'to see the page of a job that is not running, use `paddlet ui`',
  });
