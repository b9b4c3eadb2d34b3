import { resolve } from 'node:path';
import { Args } from '@oclif/core';
import { EXIT, type ExitCode } from '../base/errors.ts';
import { createClock } from '../host/clock.ts';
import { createShell } from '../host/shell.ts';
import { loadJob } from '../job/load-job.ts';
import { runMaster } from '../roles/master/master.ts';
import { defaultChroot } from '../store/keys.ts';
import { jobFolder } from './base/find-store.ts';
import { modelKeeperOf } from './base/model-keeper.ts';
import { resultText } from './base/result-text.ts';
import { checkpointFolder, RoleCommand, roleFlags, storeUrl } from './base/role-command.ts';
import { startCommand } from './base/start-command.ts';
import { cacheFlags, dataFlags, jobFlags, setFlags } from './base-command.ts';
import { pageOfMaster } from './page/page-of-master.ts';

export default class MasterCommand extends RoleCommand<typeof MasterCommand> {
  static override summary = 'Publish a job and hand out its tasks';
  static override description =
    `Writes the job to the store, where pservers and trainers read it, and hands out tasks to the trainers until all
passes are done. Additional masters stand by; if the active master dies, a standby master takes over. To resume a job
that was stopped, run the same command again.`;
  static override examples = [
    {
      command: '<%= config.bin %> master examples/a9a-lr.yaml --store etcd://127.0.0.1:2379',
      description: 'Publish a job to a cluster that coordinates through etcd.',
    },
  ];
  static override args = { job: Args.string({ required: true, description: 'Job file (YAML).' }) };
  static override flags = { ...jobFlags, ...dataFlags, ...cacheFlags, ...setFlags, ...roleFlags };

  override async execute(): Promise<ExitCode> {
    const { flags } = this;
    const { job, dataDir } = await loadJob({
      path: this.args.job,
      sets: flags.set,
      dataDir: flags['data-dir'],
      disk: this.host().disk,
    });
    this.identity.job = job.name;
    const chroot = flags.chroot ?? defaultChroot(job.name);
    const shell = createShell(createClock());
    const folders = { cacheDir: resolve(flags['cache-dir']), checkpointDir: checkpointFolder(flags, job.name) };
    const options = { job, dataDir, ...folders, command: startCommand(), shell };
    const keeperOf = modelKeeperOf({ shell, dataDir, cacheDir: folders.cacheDir });
    const end = await this.withRole('master', { flags, url: storeUrl(flags), where: { chroot } }, (context) =>
      runMaster(context, { ...options, keeperOf, pageOf: () => pageOfMaster(context, jobFolder(flags, job.name)) }),
    );
    if (end === undefined) return EXIT.interrupted;
    if ('failure' in end) throw end.failure;
    const { result } = end;
    this.output(result, () => resultText(result, job.training.classWeights));
    return EXIT.done;
  }
}
