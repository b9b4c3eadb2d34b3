import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Host } from '../base/seams.ts';
import { filesOfEntries, parseEntries } from '../checkpoint/registry/discover.ts';
import {
  discardUnpublished,
  publishRestored,
  type QuietJob,
  readQuietJob,
  restoredTimeline,
} from '../checkpoint/registry/publish-restored.ts';
import {
  planRestore,
  type Restored,
  type RestoreOptions,
  type RestorePlan,
  restoreFiles,
} from '../checkpoint/restore/restore.ts';
import {
  type CheckpointSet,
  chooseVariables,
  openCheckpointSet,
  type Variables,
} from '../checkpoint/set/checkpoint-set.ts';
import { durationFlag, milliseconds } from './base/duration-flag.ts';
import { jobFlags, PaddletCommand } from './base-command.ts';
import { findCheckpoint, type JobInStore, ofJobFlags, varsFlags, withJob } from './checkpoint/find-checkpoint.ts';
import { bytesText } from './checkpoint/inspection-text.ts';

export default class RestoreCommand extends PaddletCommand<typeof RestoreCommand> {
  static override summary = 'Deal a checkpoint to another number of pservers';
  static override description =
    `Writes the shards of a checkpoint into new files, one for each pserver, with optimizer state, positions and ledgers,
and proves by row counts and digests that nothing was lost. With a store (--store, --dir) the new files become the job's checkpoints,
in one transaction, while no pserver lives; the pservers that start next load them. Without one they are only files.`;
  static override examples = [
    {
      command: '<%= config.bin %> restore --dir .paddlet/ctr --pservers 3',
      description: "A stopped job's own checkpoints, dealt to three pservers.",
    },
    {
      command: '<%= config.bin %> restore --from /backup/ctr --to /new/ctr --pservers 8 --vars "emb*" --dry-run',
      description: 'Only the plan: some tables of a copy, into a new folder.',
    },
    {
      command:
        '<%= config.bin %> restore --from /backup/ctr --store etcd://h1:2379 --to /shared/ctr --pservers 4 --json',
      description: "A job goes back to a copy; /shared/ctr is the job's checkpoint.dir.",
    },
  ];
  static override flags = {
    ...jobFlags,
    ...ofJobFlags,
    ...varsFlags,
    from: Flags.string({
      helpValue: 'PATH',
      description: "Checkpoint folder or file. Default: the job's published checkpoints.",
    }),
    to: Flags.string({
      helpValue: 'FOLDER',
      description: "Checkpoint folder of the new files. Default: the job's own. Without publishing: a new one.",
    }),
    pservers: Flags.integer({
      required: true,
      min: 1,
      max: LIMITS.pservers,
      helpValue: 'N',
      description: 'Pservers to deal the shards to.',
    }),
    publish: Flags.boolean({
      allowNo: true,
      description: "Make the new files the job's checkpoints. Default: when --store or --dir is given.",
    }),
    'dry-run': Flags.boolean({ description: 'Show the plan and write nothing.' }),
    wait: durationFlag('0s', 'How long to wait for the leases of dead pservers to run out.'),
  };

  override async execute(): Promise<void> {
    const { flags } = this;
    const host = this.host('restore');
    const signal = this.interruption();
    const isPublishing = flags.publish ?? (flags.store ?? flags.dir ?? flags.chroot) !== undefined;
    if (isPublishing || flags.from === undefined) {
      await withJob({ flags, host, signal }, (job) => this.restoreJob({ host, signal }, job, isPublishing));
      return;
    }
    const { files } = await findCheckpoint({
      path: flags.from,
      flags: { job: flags.job },
      host,
      signal,
      which: 'newest',
    });
    const folder = await this.newFolder(host);
    await this.withSet(host, files, async (set) => {
      const token = set.parts.map(({ reader }) => reader.facts.token).reduce((a, b) => (a > b ? a : b), 0n);
      await this.restore({ host, signal, set, folder, token });
    });
  }

  /** A folder with nothing in it: files of other jobs or times are not mixed with new ones. */
  private async newFolder({ disk }: Host): Promise<string> {
    if (this.flags.to === undefined) {
      throw new PaddletError('Usage', '--to is missing', {
        hint: 'name a new folder, or the job with --store or --dir',
      });
    }
    const folder = resolve(this.flags.to);
    const facts = await disk.inspect(folder);
    if (facts !== undefined && (facts.kind !== 'folder' || (await disk.list(folder)).length > 0)) {
      throw new PaddletError('Usage', `--to ${folder}: is there already and not an empty folder`);
    }
    return folder;
  }

  private async restoreJob(
    { host, signal }: Pick<Restoring, 'host' | 'signal'>,
    job: JobInStore,
    isPublishing: boolean,
  ): Promise<void> {
    const { flags } = this;
    const { store, keys, record, retryStore } = job;
    const access = { store, keys, clock: host.clock, signal };
    const quiet = await retryStore(() => readQuietJob(access, isPublishing ? milliseconds(flags.wait) : 0));
    const files =
      flags.from === undefined
        ? filesOfEntries(job.folder, parseEntries(keys.checkpointsPrefix, quiet.entries), 'newest')
        : (
            await findCheckpoint({
              path: flags.from,
              flags: { job: flags.job ?? record.id },
              host,
              signal,
              which: 'newest',
            })
          ).files;
    const folder = isPublishing ? this.folderOf(job) : await this.newFolder(host);
    await this.withSet(host, files, async (set) => {
      if (set.facts.jobId !== record.id) {
        const { jobName, jobId } = set.facts;
        throw new PaddletError(
          'CheckpointCorrupt',
          `the files are of job ${jobName} (${jobId}), not of this job (${record.id})`,
        );
      }
      const restoring = {
        host,
        signal,
        set,
        folder,
        token: quiet.token,
        ...(set.facts.rounds !== undefined && isPublishing ? { timeline: BigInt(restoredTimeline(quiet, keys)) } : {}),
      };
      await this.restore(isPublishing ? { ...restoring, publishing: { job, quiet } } : restoring);
    });
  }

  /** The pservers look where the job says, and nowhere else. */
  private folderOf({ folder }: JobInStore): string {
    const { to } = this.flags;
    if (to === undefined || resolve(to) === folder) return folder;
    throw new PaddletError('Usage', `--to ${resolve(to)}: the pservers of this job load from ${folder}`, {
      hint: `leave out --to; or --no-publish only writes the files; or --dir, where checkpoint.dir of the job does not say`,
    });
  }

  private async withSet(
    host: Host,
    files: Parameters<typeof openCheckpointSet>[1],
    act: (set: CheckpointSet) => Promise<void>,
  ): Promise<void> {
    const set = await openCheckpointSet(host.disk, files);
    try {
      await act(set);
    } finally {
      await set.close();
    }
  }

  private async restore(restoring: Restoring): Promise<void> {
    const { set, folder, publishing } = restoring;
    const { flags } = this;
    const variables = chooseVariables(set.facts.parameters, flags.vars);
    const plan = await planRestore(set, { variables, pservers: flags.pservers });
    if (publishing !== undefined && plan.leftOut.length > 0) {
      throw new PaddletError(
        'Usage',
        `--vars leaves out ${plan.leftOut.join(', ')}, which the pservers of the job need`,
        {
          hint: 'restore chosen variables into files only: --no-publish',
        },
      );
    }
    const from = set.parts.map(({ path }) => path);
    const described = { job: set.facts.jobName, jobId: set.facts.jobId, from, to: folder, published: false, plan };
    if (flags['dry-run']) {
      this.output({ ...described, dryRun: true }, () => this.planText(plan, folder, from.length));
      return;
    }
    this.say(this.planText(plan, folder, from.length));
    const restored = await this.write(restoring, variables, plan);
    if (publishing !== undefined) await this.publish(restoring, publishing, restored);
    const { generations, proof } = restored;
    this.output({ ...described, published: publishing !== undefined, files: generations, proof }, () =>
      this.resultText(restored, publishing),
    );
  }

  private async write(restoring: Restoring, variables: Variables, plan: RestorePlan): Promise<Restored> {
    const { host, signal, set, folder, token, timeline } = restoring;
    const sources = set.parts.reduce((sum, { reader }) => sum + reader.source.bytes, 0);
    const total = sources + 3 * plan.bytes;
    const progress = this.progress('restoring');
    let done = 0;
    let phase = '';
    const options: RestoreOptions = {
      ...host,
      set,
      variables,
      pservers: this.flags.pservers,
      folder,
      token,
      ...(timeline === undefined ? {} : { timeline }),
      signal,
      onPhase: (next) => {
        phase = next;
      },
      onBytes: (bytes) => {
        done += bytes;
        progress.update(Math.min(done, total), total, phase);
      },
    };
    try {
      return await restoreFiles(options);
    } finally {
      progress.end();
    }
  }

  private async publish({ host, signal }: Restoring, { job, quiet }: Publishing, restored: Restored): Promise<void> {
    const { store, keys } = job;
    const { generations } = restored;
    try {
      signal.throwIfAborted();
      const timestamp = host.clock.wallSeconds();
      await publishRestored({ store, keys, clock: host.clock, signal, quiet, generations, timestamp });
    } catch (error) {
      await discardUnpublished(error, { disk: host.disk, store, keys, files: restored });
      throw error;
    }
  }

  private planText({ files, variables, leftOut, bytes }: RestorePlan, folder: string, sources: number): string {
    const columns = ['pserver', 'shards', 'rows'].map((head) => ({ head, align: 'right' as const }));
    const rows = files.map(({ index, shards, rows }) => [index, shards, rows]);
    const names = [...variables.dense, ...variables.sparse].join(', ');
    const lines = [`${sources} files, ${bytesText(bytes)} → ${folder}`, `variables: ${names}`];
    if (leftOut.length > 0) lines.push(`left out: ${leftOut.join(', ')}`);
    return [...lines, this.table(columns, rows)].join('\n');
  }

  private resultText({ proof, paths, generations }: Restored, publishing: Publishing | undefined): string {
    const columns = [
      { head: 'name' },
      { head: 'rows', align: 'right' },
      { head: 'values' },
      { head: 'with state' },
    ] as const;
    const rows = proof.variables.map((one) => [one.name, one.rows, one.valuesDigest, one.stateDigest]);
    const proven = `${this.table(columns, rows)}\n${proof.shards} shards, positions ${proof.positionsDigest}`;
    const files = paths.map((path, at) => `${path}  ${bytesText(generations[at]?.bytes ?? 0)}`).join('\n');
    const end =
      publishing === undefined
        ? 'not published'
        : `published in ${publishing.job.store.url}; the job goes on with cluster.pservers = ${paths.length}`;
    return `\nthe same before and after:\n${proven}\n\n${files}\n${end}`;
  }
}

interface Publishing {
  readonly job: JobInStore;
  readonly quiet: QuietJob;
}

interface Restoring {
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly set: CheckpointSet;
  readonly folder: string;
  readonly token: bigint;
  readonly timeline?: bigint;
  readonly publishing?: Publishing;
}
