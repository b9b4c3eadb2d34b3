/**
 * What `paddlet restore` reads and where it writes: the files of a path or of a job, checked before anything is
 * written.
 */
import { resolve } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Disk, Host } from '../../base/seams.ts';
import { newestOfEntries, parseEntries } from '../../checkpoint/registry/discover.ts';
import type { FileRef } from '../../checkpoint/registry/file-ref.ts';
import { parsePartings } from '../../checkpoint/registry/partings.ts';
import { restoredTimeline } from '../../checkpoint/registry/publish-restored.ts';
import { type QuietJob, readQuietJob } from '../../checkpoint/registry/quiet-job.ts';
import { type CheckpointSet, openCheckpointSet } from '../../checkpoint/set/checkpoint-set.ts';
import type { TypedCommand } from '../base/typed-command.ts';
import type { OpenJob } from '../base/with-job.ts';
import { findCheckpoint } from '../checkpoint/find-checkpoint.ts';

export interface RestoreRequest {
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly typed: TypedCommand;
  /** Source and target as the flags name them. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly jobIdOrName: string | undefined;
  /** How long the leases of dead pservers are waited for. */
  readonly waitMs: number;
}

/** The job whose checkpoints the new files become, as it was before. */
export interface Publishing {
  readonly job: OpenJob;
  readonly quiet: QuietJob;
  /** The new files have what the published ones had, which are no longer needed. */
  readonly isOfPublished: boolean;
}

export interface RestoreSource {
  readonly set: CheckpointSet;
  /** Where the new files go. */
  readonly folder: string;
  /** The fencing token that the new files carry: not below that of any file before them. */
  readonly token: bigint;
  /** Timeline to publish, for a job in sync mode. */
  readonly timeline?: bigint;
  /** Number of units of a job in a store: shards of one unit stay together. */
  readonly units?: number;
  readonly publishing?: Publishing;
}

type Act = (source: RestoreSource) => Promise<void>;

/** Only files: from a path to a new folder. */
export async function withFiles(request: RestoreRequest, act: Act): Promise<void> {
  const { host } = request;
  const files = await filesAt(request, request.jobIdOrName);
  const folder = await newFolder(host.disk, request.to);
  await withSet(host, files, async (set) => {
    const token = set.parts.map(({ reader }) => reader.facts.token).reduce((a, b) => (a > b ? a : b), 0n);
    await act({ set, folder, token });
  });
}

/** With a job in a store: its own checkpoints or those at `from`, into its own folder when they are published. */
export async function withJobFiles(
  request: RestoreRequest,
  job: OpenJob,
  isPublishing: boolean,
  act: Act,
): Promise<void> {
  const { host, signal, from, to } = request;
  const { store, keys, record, retryStore } = job;
  const access = { store, keys, clock: host.clock, signal };
  const quiet = await readQuietJob(access, isPublishing ? request.waitMs : 0, retryStore);
  const files =
    from === undefined
      ? newestOfEntries(
          job.checkpointFolder,
          parseEntries(keys.checkpointsPrefix, quiet.entries),
          parsePartings(keys.partingPrefix, quiet.partings),
        )
      : await filesAt(request, request.jobIdOrName ?? record.id);
  const folder = isPublishing ? folderOfJob(job, to) : await newFolder(host.disk, to);
  await withSet(host, files, async (set) => {
    const { jobName, jobId, rounds } = set.facts;
    if (jobId !== record.id) {
      const message = `the files belong to job ${jobName} (${jobId}), not to this job (${record.id})`;
      throw new PaddletError('CheckpointCorrupt', message);
    }
    const source = { set, folder, token: quiet.token, units: record.units };
    if (!isPublishing) return act(source);
    const timeline = rounds === undefined ? {} : { timeline: BigInt(restoredTimeline(quiet, keys)) };
    return act({ ...source, ...timeline, publishing: { job, quiet, isOfPublished: from === undefined } });
  });
}

async function filesAt(
  { host, signal, from, typed }: RestoreRequest,
  job: string | undefined,
): Promise<readonly FileRef[]> {
  const { files } = await findCheckpoint({
    path: from,
    typed,
    flags: { 'job-id': job },
    host,
    signal,
    which: 'newest',
  });
  return files;
}

/** An empty or missing folder: new files are not mixed with those of other jobs or times. */
async function newFolder(disk: Disk, to: string | undefined): Promise<string> {
  if (to === undefined) {
    throw new PaddletError('Usage', '--to is missing', {
      hint: 'give a new folder with --to, or the job with --store or --dir',
    });
  }
  const folder = resolve(to);
  const facts = await disk.inspect(folder);
  if (facts !== undefined && (facts.kind !== 'folder' || (await disk.list(folder)).length > 0)) {
    throw new PaddletError('Usage', `--to ${folder}: expected a new or empty folder`);
  }
  return folder;
}

/** The pservers look where the job says, and nowhere else. */
function folderOfJob({ checkpointFolder }: OpenJob, to: string | undefined): string {
  if (to === undefined || resolve(to) === checkpointFolder) return checkpointFolder;
  const message = `--to ${resolve(to)}: the pservers of this job load from ${checkpointFolder}`;
  throw new PaddletError('Usage', message, {
    hint: 'omit --to, or add --no-publish to only write files; if the job does not set checkpoint.dir, choose the folder with --dir',
  });
}

async function withSet(host: Host, files: readonly FileRef[], act: (set: CheckpointSet) => Promise<void>) {
  const set = await openCheckpointSet(host.storage, files);
  try {
    await act(set);
  } finally {
    await set.close();
  }
}
