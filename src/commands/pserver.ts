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
  static override summary = "Hold and serve a part of the model's parameters";
  static override description =
    `A pserver (parameter server) claims an index and takes its share of the model: several units, each a group of
shards. It applies the gradients that trainers push, and answers their pulls. On Ctrl-C, the pserver saves its
parameters and exits; to resume, run the same command again.

On SIGTERM, the pserver hands over its units to the other pservers, if they can take them, and saves the rest.
When the job is resized to fewer pservers, the pservers with the highest indexes hand over their units and exit with
code 0.

--host-label and --zone say where the pserver runs. If units have several copies (cluster.replicas), the copies of a
unit are placed on different machines, and in different zones, where possible. If units have one copy, the two flags do
not change the placement.`;
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
      description:
        'Index to claim. Default: the first free index; if all are taken, the pserver waits for a free index.',
    }),
    'host-label': labelFlag('Name of this machine. `paddlet status --wide` shows the name.'),
    zone: labelFlag(
      'Name of the failure domain of this machine, such as a rack. `paddlet status --wide` shows the name.',
    ),
    'leave-timeout': durationFlag(
      '20s',
      'Longest time to spend on handing over units after SIGTERM. The pserver then saves the units that remain.',
    ),
    guard: Flags.boolean({
      description:
        "Run the pserver under a guard: a small parent process that ends the pserver's lease as soon as the pserver dies. The job then recovers without waiting for cluster.leaseTtl. The guard forwards signals to the pserver. If either process is killed with SIGKILL, both end, and the pserver does not save.",
    }),
  };

  override async execute(): Promise<ExitCode> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    const name = flags.index === undefined ? 'pserver' : `pserver ${flags.index}`;
    if (flags.index !== undefined) this.identity.index = flags.index;
    if (flags.guard) return this.guarded(name, storeUrl(flags));
    const reportLease = leaseReporter();
    const end = await this.withRole(name, { flags, url: storeUrl(flags), where: flags }, (context) => {
      const jobName = jobNameIn(context.keys);
      const { index, zone, 'host-label': hostLabel } = flags;
      return runPserver(context, {
        ...{ index, checkpointDir: checkpointFolder(flags, jobName) },
        labels: { ...(hostLabel === undefined ? {} : { hostLabel }), ...(zone === undefined ? {} : { zone }) },
        leaveLimitMs: milliseconds(flags['leave-timeout']),
        ...(reportLease === undefined ? {} : { reportLease }),
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
