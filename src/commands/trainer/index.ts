import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import type { ExitCode } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { runTrainer } from '../../roles/trainer/trainer.ts';
import { jobFolder } from '../base/find-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { exitOf, jobNameIn, RoleCommand, roleFlags, storeUrl } from '../base/role-command.ts';
import { trainerThreads } from '../base/trainer-threads.ts';
import { cacheFlags, dataFlagsElse, jobFlags } from '../base-command.ts';

export default class TrainerCommand extends RoleCommand<typeof TrainerCommand> {
  static override summary = 'Train on the tasks that the master hands out';
  static override description =
    `Reads records, computes gradients and pushes the gradients to the pservers. Trainers may join and leave at any
time, in any number. On Ctrl-C, the trainer returns its tasks to the master and exits.`;
  static override examples = [
    {
      command: '<%= config.bin %> trainer --store etcd://127.0.0.1:2379',
      description: 'Add a trainer to the job in a store.',
    },
    {
      command: 'PADDLET_STORE=etcd://etcd:2379 <%= config.bin %> trainer --data-dir /mnt/data',
      description: 'Add a trainer on a machine that keeps the data in another folder than the master.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    ...dataFlagsElse('the folder that the master uses'),
    ...cacheFlags,
    threads: Flags.integer({
      min: 1,
      max: LIMITS.trainerThreads,
      helpValue: 'N',
      description: `Number of threads. One trains, and the others read; a single thread does both. In sync mode, the model does not depend on the number. Default: what the machine grants, at most ${LIMITS.trainerThreads}.`,
    }),
    ...roleFlags,
  };

  override async execute(): Promise<ExitCode> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    const dataDir = flags['data-dir'];
    const folders = { dataDir: dataDir && resolve(dataDir), cacheDir: resolve(flags['cache-dir']) };
    const end = await this.withRole('trainer', { flags, url: storeUrl(flags), where: flags }, (context) =>
      runTrainer(context, {
        ...folders,
        jobDir: jobFolder(flags, jobNameIn(context.keys)),
        threads: trainerThreads(flags.threads),
      }),
    );
    return exitOf(end);
  }
}
