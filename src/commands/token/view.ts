import { PaddletError } from '../../base/errors.ts';
import { StoredJoinToken } from '../../cluster/job/join-token.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { pageLink } from '../base/page-link.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

export default class TokenViewCommand extends PaddletCommand<typeof TokenViewCommand> {
  static override summary = "Print the link of a running job's web page";
  static override description =
    `The master of a job serves a page that shows it. The link has the view token: it lets a browser look at the job, and change
nothing. It is a secret like a password, and of no use after paddlet token rotate.`;
  static override examples = [
    { command: '<%= config.bin %> token view', description: 'Of the only job in ./.paddlet.' },
    {
      command: '<%= config.bin %> token view --store etcd://127.0.0.1:2379 --chroot /paddlet/a9a-lr',
      description: 'One of several jobs in the same store.',
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
    hint: '`paddlet ui` serves the page of a job that does not run',
  });
