/** Which files a checkpoint command means: those of a path, or those that a job in a store has published. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import {
  filesOfEntries,
  filesOfJob,
  findFiles,
  newestOfEntries,
  type PublishedEntry,
  parseEntries,
} from '../../checkpoint/registry/discover.ts';
import type { FileRef } from '../../checkpoint/registry/file-ref.ts';
import { type Parting, parsePartings } from '../../checkpoint/registry/partings.ts';
import { type CheckpointSet, openCheckpointSet } from '../../checkpoint/set/checkpoint-set.ts';
import { parseHead } from '../../cluster/placement/heads.ts';
import { HOME, hasStore, jobsAtHome } from '../base/find-store.ts';
import { namedModel } from '../base/named-job.ts';
import type { TypedCommand } from '../base/typed-command.ts';
import { type OpenJob, type WithJobOptions, withJob } from '../base/with-job.ts';

export const varsFlags = {
  vars: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    helpValue: 'PATTERN',
    description: 'Name of a table or dense parameter to include; * and ? are wildcards. May be repeated. Default: all.',
  }),
};

export const ofJobFlags = {
  'job-id': Flags.string({
    helpValue: 'ID',
    description: 'Id or name of the job whose checkpoints to read. Required if several jobs share a checkpoint folder.',
  }),
};

export interface FindOptions {
  readonly path: string | undefined;
  readonly flags: WithJobOptions['flags'] & { readonly 'job-id'?: string | undefined };
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly which: 'newest' | 'all';
  readonly typed: TypedCommand;
}

export interface FoundCheckpoint {
  /** Path or store, for people. */
  readonly from: string;
  readonly folder: string | undefined;
  readonly files: readonly FileRef[];
  readonly unfinished: readonly string[];
  /** What the store says, when the files were found by it. */
  readonly published: readonly PublishedEntry[] | undefined;
  /** Files that have the last state of a unit, when the files were found by the store. */
  readonly resting: ReadonlySet<string> | undefined;
  /** Id of the job in the store, if the files were found by the store. */
  readonly jobId: string | undefined;
}

/** A folder with checkpoints is read as it is, even that of a job. */
function namesJob(path: string | undefined, { store }: FindOptions['flags']): path is string {
  if (path === undefined) return false;
  if (hasStore(join(HOME, path))) return true;
  if (!existsSync(path)) return !path.includes('/') && (store !== undefined || jobsAtHome().length > 0);
  return hasStore(path) && !existsSync(join(path, 'checkpoints'));
}

export async function findCheckpoint(options: FindOptions): Promise<FoundCheckpoint> {
  const { path, flags, host, which } = options;
  const named = namesJob(path, flags) ? namedModel(path, flags, options.typed) : undefined;
  if (path === undefined || named?.kind === 'job') {
    return withJob(
      { ...options, flags: named?.kind === 'job' ? named.flags : { ...flags, typed: options.typed } },
      async (job) => {
        const published = await readEntries(job);
        const folder = job.checkpointFolder;
        const files =
          which === 'all'
            ? filesOfEntries(folder, published)
            : newestOfEntries(folder, published, await readPartings(job));
        const from = `${job.store.url} ${job.keys.chroot}`;
        const resting = await readResting(job);
        return { from, folder, files, unfinished: [], published, resting, jobId: job.record.id };
      },
    );
  }
  if (flags.chroot !== undefined) throw new PaddletError('Usage', '--chroot cannot be combined with a path');
  const found = await findFiles(host.storage, resolve(path));
  const jobId = flags['job-id'];
  const there = which === 'all' ? [...found.files, ...(found.kept ?? [])] : found.files;
  const files = jobId === undefined ? there : await filesOfJob(host.storage, there, jobId);
  if (files.length === 0) throw new PaddletError('CheckpointMissing', `no checkpoint files in ${path}`);
  return { ...found, files, from: resolve(path), published: undefined, resting: undefined, jobId: undefined };
}

/** Each time there are newer files, unless pservers save all the time. */
const LOOKS = 5;

/**
 * Acts on the files of a checkpoint. Those of a job that runs may go before they are opened: newer files have replaced
 * them, or a pserver has left. Then they are looked for again, until all stay that were found: what is missing among
 * files that were found twice is missing for good. `areAllThere` says so of a result; otherwise `CheckpointMissing` is
 * thrown.
 */
export async function withCheckpoint<T>(
  options: FindOptions,
  act: (found: FoundCheckpoint) => Promise<T>,
  areAllThere: (result: T, found: FoundCheckpoint) => boolean | Promise<boolean> = () => true,
): Promise<T> {
  let before: string | undefined;
  for (let looks = 1; ; looks++) {
    const found = await findCheckpoint(options);
    const paths = found.files.map(({ path }) => path).join('\n');
    const isLast = paths === before || looks === LOOKS;
    before = paths;
    try {
      const result = await act(found);
      if (isLast || (await areAllThere(result, found))) return result;
    } catch (error) {
      if (isLast || !isPaddletError(error, 'CheckpointMissing')) throw error;
    }
  }
}

/** Finds and opens them; to be closed by the caller. */
export const openFound = (
  options: FindOptions,
): Promise<{ readonly found: FoundCheckpoint; readonly set: CheckpointSet }> =>
  withCheckpoint(options, async (found) => ({
    found,
    set: await openCheckpointSet(options.host.storage, found.files),
  }));

async function readPartings({ store, keys, retryStore }: OpenJob): Promise<Parting[]> {
  const { entries } = await retryStore(() => store.range({ prefix: keys.partingPrefix }));
  return parsePartings(keys.partingPrefix, entries);
}

async function readResting({ store, keys, retryStore }: OpenJob): Promise<ReadonlySet<string>> {
  const { entries } = await retryStore(() => store.range({ prefix: keys.headsPrefix }));
  return new Set(entries.flatMap(({ key, value }) => parseHead(key, value).rest?.uuid ?? []));
}

/** Throws `CheckpointMissing` when the job has published none. */
export async function readEntries({ store, keys, record, retryStore }: OpenJob): Promise<PublishedEntry[]> {
  const { entries } = await retryStore(() => store.range({ prefix: keys.checkpointsPrefix }));
  if (entries.length > 0) return parseEntries(keys.checkpointsPrefix, entries);
  throw new PaddletError('CheckpointMissing', `job ${record.job.name} in ${store.url} has no checkpoint yet`);
}
