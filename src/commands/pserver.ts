import { Flags } from '@oclif/core';
import type { ExitCode } from '../base/errors.ts';
import { runPserver } from '../roles/pserver/pserver.ts';
import { checkpointFolder, exitOf, RoleCommand, roleFlags, storeUrl } from './base/role-command.ts';
import { jobFlags } from './base-command.ts';

export default class PserverCommand extends RoleCommand<typeof PserverCommand> {
  static override summary = 'Hold and serve a part of the parameters';
  static override description =
    `Claims an index, holds the shards that belong to it, applies pushes and answers pulls. On Ctrl-C it saves its
parameters; run it again to resume from there.`;
  static override examples = [
    {
      command: '<%= config.bin %> pserver --index 0 --store etcd://127.0.0.1:2379',
      description: 'The parameter server with index 0.',
    },
    { command: '<%= config.bin %> pserver', description: 'The first free index; the store comes from PADDLET_STORE.' },
  ];
  static override flags = {
    ...jobFlags,
    ...roleFlags,
    index: Flags.integer({
      min: 0,
      helpValue: 'N',
      description: 'Index to claim. Default: the first free one.',
    }),
  };

  override async execute(): Promise<ExitCode> {
    const { flags } = this;
    const name = flags.index === undefined ? 'pserver' : `pserver ${flags.index}`;
    const end = await this.withRole(name, { flags, url: storeUrl(flags), chroot: flags.chroot }, (context) => {
      const jobName = context.keys.chroot.slice(context.keys.chroot.lastIndexOf('/') + 1);
      return runPserver(context, { index: flags.index, checkpointDir: checkpointFolder(flags, jobName) });
    });
    return exitOf(end);
  }
}
