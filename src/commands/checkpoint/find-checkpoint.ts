/** Which files a checkpoint command means: those of a path, or those that a job in a store has published. */
import { join, resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import {
  filesOfEntries,
  filesOfJob,
  findFiles,
  type PublishedEntry,
  parseEntries,
} from '../../checkpoint/registry/discover.ts';
import type { FileRef } from '../../checkpoint/registry/file-ref.ts';
import { type JobRecord, readJobRecord } from '../../cluster/job/job-record.ts';
import { type Keys, keysOf } from '../../store/keys.ts';
import { openStore } from '../../store/open-store.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';
import { findChroot, findStore, jobFolder, type WhereFlags } from '../base/find-store.ts';

export const pathArg = {
  path: Args.string({
    description:
      'A checkpoint file, a checkpoint folder, or the folder of a job. Without it: the job of --store or --dir.',
  }),
};

export const varsFlags = {
  vars: Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    helpValue: 'PATTERN',
    description: 'Only parameters and tables of these names; * is any text, ? any character. May be repeated.',
  }),
};

export const ofJobFlags = {
  job: Flags.string({
    helpValue: 'ID',
    description: 'Job whose files are meant, by id or name, where jobs share a folder.',
  }),
};

export interface FindOptions {
  readonly path: string | undefined;
  readonly flags: WhereFlags & { readonly job?: string | undefined };
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly which: 'newest' | 'all';
}

export interface FoundCheckpoint {
  /** Path or store, for people. */
  readonly from: string;
  readonly folder: string | undefined;
  readonly files: readonly FileRef[];
  readonly unfinished: readonly string[];
  /** What the store says, when the files were found by it. */
  readonly published: readonly PublishedEntry[] | undefined;
  /** The job that they must be of, when a store said so. */
  readonly jobId: string | undefined;
}

export async function findCheckpoint(options: FindOptions): Promise<FoundCheckpoint> {
  const { path, flags, host, which } = options;
  if (path === undefined) {
    return withJob(options, async (job) => {
      const published = await readEntries(job);
      const files = filesOfEntries(job.folder, published, which);
      const from = `${job.store.url} ${job.keys.chroot}`;
      return { from, folder: job.folder, files, unfinished: [], published, jobId: job.record.id };
    });
  }
  if (flags.chroot !== undefined) throw new PaddletError('Usage', '--chroot and a path: give one of them');
  const found = await findFiles(host.disk, resolve(path));
  const files = flags.job === undefined ? found.files : await filesOfJob(host.disk, found.files, flags.job);
  if (files.length === 0) throw new PaddletError('CheckpointMissing', `${path}: no checkpoint files in it`);
  return { ...found, files, from: resolve(path), published: undefined, jobId: undefined };
}

export interface JobInStore {
  readonly store: Store;
  readonly keys: Keys;
  readonly record: JobRecord;
  /** Where its checkpoints are. */
  readonly folder: string;
  /** Repeats an idempotent call while the store is away. */
  retryStore<T>(call: () => Promise<T>): Promise<T>;
}

/** Opens the store that the flags name, finds its job, and closes the store in the end. */
export async function withJob<T>(
  { flags, host, signal }: Pick<FindOptions, 'flags' | 'host' | 'signal'>,
  act: (job: JobInStore) => Promise<T>,
): Promise<T> {
  const { url, folder: dir } = findStore(flags);
  const store = await openStore(url, host);
  try {
    const retryStore = <R>(call: () => Promise<R>): Promise<R> => retryUntilAnswered({ ...host, store, signal }, call);
    const chroot = await retryStore(() => findChroot(store, flags.chroot));
    const keys = chroot === undefined ? undefined : keysOf(chroot);
    const record = keys && (await retryStore(() => readJobRecord(store, keys)));
    if (keys === undefined || record === undefined) throw new PaddletError('JobUnknown', `no job in ${store.url}`);
    const folder = resolve(record.job.checkpoint.dir ?? join(jobFolder({ dir }, record.job.name), 'checkpoints'));
    return await act({ store, keys, record, folder, retryStore });
  } finally {
    await store.close();
  }
}

/** Throws `CheckpointMissing` when the job has published none. */
export async function readEntries({ store, keys, record, retryStore }: JobInStore): Promise<PublishedEntry[]> {
  const { entries } = await retryStore(() => store.range({ prefix: keys.checkpointsPrefix }));
  if (entries.length > 0) return parseEntries(keys.checkpointsPrefix, entries);
  throw new PaddletError('CheckpointMissing', `job ${record.job.name} in ${store.url} has no checkpoint yet`);
}
