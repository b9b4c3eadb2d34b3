import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { planRestore, type Restored, type RestorePlan, restoreFiles } from '../../checkpoint/restore/restore.ts';
import { chooseVariables, type Variables } from '../../checkpoint/set/checkpoint-set.ts';
import { parseJobRecord } from '../../cluster/job/job-record.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { checkBounds } from '../base/size-bounds.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { ofJobFlags, varsFlags } from '../checkpoint/find-checkpoint.ts';
import { publish } from './publish.ts';
import { planText, restoredText } from './restore-text.ts';
import { type Publishing, type RestoreRequest, type RestoreSource, withFiles, withJobFiles } from './source.ts';

export default class RestoreCommand extends PaddletCommand<typeof RestoreCommand> {
  static override summary = 'Redistribute a checkpoint across a different number of pservers';
  static override description =
    `Writes the shards of a checkpoint to new files, one for each pserver, with optimizer state and training positions.
Compares row counts and digests to prove that nothing was lost.

If a job is given (JOB, --store, --dir or --chroot), the new files become the job's checkpoints in one transaction.
paddlet refuses to do this while a pserver of the job is running. Pservers that start afterwards load the new files. If
no job is given, the command only writes files.`;
  static override examples = [
    {
      command: '<%= config.bin %> restore clicks --pservers 3',
      description: 'Redistribute the checkpoints of a stopped job to three pservers.',
    },
    {
      command: '<%= config.bin %> restore --from /backup/clicks --to /new/clicks --pservers 8 --vars "emb*" --dry-run',
      description: 'Show how the command would write some tables of a backup to a new folder.',
    },
    {
      command:
        '<%= config.bin %> restore clicks --from /backup/clicks --store etcd://h1:2379 --to /shared/clicks --pservers 4 --json',
      description: "Roll a job back to a backup; /shared/clicks is the job's checkpoint.dir.",
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    timeout: storeTimeoutFlag,
    ...ofJobFlags,
    ...varsFlags,
    from: Flags.string({
      helpValue: 'PATH',
      description: "Checkpoint folder or file to read. Default: the job's published checkpoints.",
    }),
    to: Flags.string({
      helpValue: 'FOLDER',
      description:
        "Folder in which to write the new files. If the files are not published, --to is required, and the folder must be new or empty. Default: the job's checkpoint folder.",
    }),
    pservers: Flags.integer({
      required: true,
      min: 1,
      max: LIMITS.pservers,
      helpValue: 'N',
      description: 'New number of pservers.',
    }),
    publish: Flags.boolean({
      allowNo: true,
      description:
        "Make the new files the job's checkpoints; --no-publish only writes the files. Default: yes if JOB, --store, --dir or --chroot is given.",
    }),
    'dry-run': Flags.boolean({ description: 'Show what the command would do, without doing it.' }),
    'lease-wait': durationFlag('0s', 'Longest time to wait for the leases of dead pservers to expire.'),
  };

  override async execute(): Promise<void> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    const request: RestoreRequest = {
      host: this.host('restore'),
      signal: this.interruption(),
      typed: this.typed,
      from: flags.from,
      to: flags.to,
      jobIdOrName: flags['job-id'],
      waitMs: milliseconds(flags['lease-wait']),
    };
    const restore = (source: RestoreSource): Promise<void> => this.restore(request, source);
    const isPublishing = flags.publish ?? (flags.store ?? flags.dir ?? flags.chroot) !== undefined;
    if (!isPublishing && flags.from !== undefined) await withFiles(request, restore);
    else {
      // Leases of a SQLite store end only while a process that may write to it watches them.
      const isWriting = isPublishing && (!flags['dry-run'] || request.waitMs > 0);
      await withJob({ flags, ...request, access: isWriting ? 'write' : 'read' }, (job) =>
        withJobFiles(request, job, isPublishing, restore),
      );
    }
  }

  private async restore(request: RestoreRequest, source: RestoreSource): Promise<void> {
    const { set, folder, publishing, units } = source;
    const { flags } = this;
    const variables = chooseVariables(set.facts.parameters, flags.vars);
    const plan = await planRestore(set, { variables, pservers: flags.pservers, units });
    if (publishing !== undefined && plan.leftOut.length > 0) {
      const message = `--vars excludes ${plan.leftOut.join(', ')}, which the pservers of the job need`;
      throw new PaddletError('Usage', message, { hint: 'to write only some variables to files, add --no-publish' });
    }
    if (publishing !== undefined) checkPservers(publishing, flags.pservers);
    const table = this.table.bind(this);
    const from = set.parts.map(({ path }) => path);
    const described = { job: set.facts.jobName, jobId: set.facts.jobId, from, to: folder, published: false, plan };
    const planned = planText({ plan, sources: from.length, folder }, table);
    if (flags['dry-run']) {
      this.output({ ...described, dryRun: true }, () => planned);
      return;
    }
    this.say(planned);
    const restored = await this.write(request, source, variables, plan);
    if (publishing !== undefined) await publish(publishing, restored);
    const { generations, proof } = restored;
    this.output({ ...described, published: publishing !== undefined, files: generations, proof }, () =>
      restoredText(restored, publishing?.job.store.url, table),
    );
  }

  private async write(
    { host, signal }: RestoreRequest,
    { set, folder, token, timeline, units }: RestoreSource,
    variables: Variables,
    plan: RestorePlan,
  ): Promise<Restored> {
    const { pservers } = this.flags;
    const sources = set.parts.reduce((sum, { reader }) => sum + reader.source.bytes, 0);
    const total = sources + 3 * plan.bytes;
    const progress = this.progress('restoring');
    let done = 0;
    let phase = '';
    const onPhase = (next: string): void => {
      phase = next;
    };
    const onBytes = (bytes: number): void => {
      done += bytes;
      progress.update(Math.min(done, total), total, phase);
    };
    const target = { variables, pservers, units, folder, token, ...(timeline === undefined ? {} : { timeline }) };
    try {
      return await restoreFiles({ ...host, set, ...target, signal, onPhase, onBytes });
    } finally {
      progress.end();
    }
  }
}

/** The job could not be run with another number of pservers than its own bounds allow. */
const checkPservers = ({ quiet }: Publishing, pservers: number): void =>
  checkBounds(parseJobRecord(quiet.job.key, quiet.job.value), { pservers, trainers: undefined });
