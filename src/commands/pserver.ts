import { constants } from 'node:os';
import { Flags } from '@oclif/core';
import type { ExitCode } from '../base/errors.ts';
import { leaseReporter } from '../host/reports.ts';
import { runPserver } from '../roles/pserver/pserver.ts';
import { durationFlag, milliseconds } from './base/duration-flag.ts';
import { labelFlag } from './base/label-flag.ts';
import { jobArg, namedJob } from './base/named-job.ts';
import { checkpointFolder, exitOf, jobNameIn, RoleCommand, roleFlags, storeUrl } from './base/role-command.ts';
import { runGuarded } from './base/run-guarded.ts';
import { jobFlags } from './base-command.ts';

export default class PserverCommand extends RoleCommand<typeof PserverCommand> {
  static override summary = 'Hold and serve a part of the parameters';
  static override description =
    `Claims an index, takes units of shards, applies pushes and answers pulls. On Ctrl-C the pserver saves its
parameters; run it again to resume from there.

On SIGTERM the pserver hands its units over to the other pservers, if they can take them, and saves the rest. When the
job is resized to fewer pservers, those with the highest indexes hand over their units and exit with 0.

--host-label and --zone only describe the pserver. While each unit has one copy, they do not change its placement.`;
  static override examples = [
    {
      command: '<%= config.bin %> pserver --index 0 --store etcd://127.0.0.1:2379',
      description: 'Start the pserver with index 0.',
    },
    {
      command: '<%= config.bin %> pserver',
      description: 'Start a pserver with the first free index, for the store in PADDLET_STORE.',
    },
    {
      command: '<%= config.bin %> pserver --index 3 --host-label rack2-7 --zone rack2',
      description: 'Start a pserver with a label and a zone, which `paddlet status --wide` shows.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    ...roleFlags,
    index: Flags.integer({
      min: 0,
      helpValue: 'N',
      description: 'Index to claim. Default: the first free one.',
    }),
    'host-label': labelFlag(
      'Name of this machine, which status shows. The name does not change the placement of units.',
    ),
    zone: labelFlag(
      'Name of the failure domain, such as a rack, which status shows. The name does not change the placement of units.',
    ),
    'leave-timeout': durationFlag(
      '20s',
      'Longest time to hand over units after SIGTERM. The pserver then saves the remaining units.',
    ),
    guard: Flags.boolean({
      description:
        'Run the pserver as the child of a small process that ends its lease when the pserver dies. Others then need not wait for cluster.leaseTtl. Signals to the guard reach the pserver; SIGKILL of either process ends both without a save.',
    }),
  };

  override async execute(): Promise<ExitCode> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    const name = flags.index === undefined ? 'pserver' : `pserver ${flags.index}`;
    if (flags.index !== undefined) this.identity.index = flags.index;
    if (flags.guard) return this.guarded(name, storeUrl(flags));
    const tellLease = leaseReporter();
    const end = await this.withRole(name, { flags, url: storeUrl(flags), where: flags }, (context) => {
      const jobName = jobNameIn(context.keys);
      const { index, zone, 'host-label': hostLabel } = flags;
      return runPserver(context, {
        ...{ index, checkpointDir: checkpointFolder(flags, jobName) },
        labels: { ...(hostLabel === undefined ? {} : { hostLabel }), ...(zone === undefined ? {} : { zone }) },
        leaveLimitMs: milliseconds(flags['leave-timeout']),
        ...(tellLease === undefined ? {} : { tellLease }),
      });
    });
    return exitOf(end);
  }

  private async guarded(name: string, url: string): Promise<ExitCode> {
    const { flags } = this;
    const host = this.host('guard');
    const args = ['pserver', ...this.argv.filter((word) => word !== '--guard')];
    const { code, signal } = await runGuarded(host, { name, args, url, flags });
    // The exit code that a shell shows for a signal.
    if (signal !== null) process.exit(128 + constants.signals[signal]);
    // The code is from a process of this same program.
    return code as ExitCode;
  }
}
