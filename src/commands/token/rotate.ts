import { newJoinToken } from '../../cluster/job/join-token.ts';
import { settle } from '../../store/retry-transaction.ts';
import { storeWaitLogger } from '../../store/retry-until-answered.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { type OpenJob, withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

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
  static override flags = { ...jobFlags, timeout: storeTimeoutFlag };

  override async execute(): Promise<void> {
    const host = this.host('token');
    await withJob({ flags: this.flags, host, signal: this.interruption(), access: 'write' }, async (job) => {
      await rotate(job);
      const { name } = job.record.job;
      this.output({ job: name, rotated: true }, () => `job ${name} has a new join token`);
    });
  }
}

/** An abandoned try can land later, but never over the token of a later rotation or of another job. */
async function rotate({ host, store, keys, ask, retryStore }: OpenJob): Promise<void> {
  const value = newJoinToken(host.random);
  for (;;) {
    const [job, token] = await retryStore(
      async () => (await store.txn({ if: [], then: [{ get: keys.job }, { get: keys.token }] })).results,
    );
    const unchanged = [
      { key: keys.job, modRevision: job?.modRevision ?? 0n },
      { key: keys.token, modRevision: token?.modRevision ?? 0n },
    ];
    const { succeeded } = await settle({
      ...ask,
      run: () => store.txn({ if: unchanged, then: [{ put: keys.token, value }] }),
      happened: async () => (await store.get(keys.token))?.value === value,
      onWaiting: storeWaitLogger(ask),
    });
    if (succeeded) return;
  }
}
