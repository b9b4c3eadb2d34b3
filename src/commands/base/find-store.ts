/**
 * Finds the store and the job that a command is about (docs/design.md §11): by its name (named-job.ts), by --store and
 * --chroot, by --dir, or the only one.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { createSignal } from '../../cluster/waiting.ts';
import { nearest } from '../../job/complaints.ts';
import { follow } from '../../store/follow.ts';
import { defaultChroot, ROOT } from '../../store/keys.ts';
import { listJobs } from '../../store/list-jobs.ts';
import { storeWaitLogger } from '../../store/retry-until-answered.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import { storeAtHome } from './path-values.ts';
import { commandFor, commandWith, type TypedCommand } from './typed-command.ts';

export const HOME = '.paddlet';

export interface WhereFlags {
  readonly store?: string | undefined;
  readonly chroot?: string | undefined;
  readonly dir?: string | undefined;
  /** For hints; undefined for commands that take no name of a job. */
  readonly typed?: TypedCommand | undefined;
}

export const jobFolder = (flags: WhereFlags, jobName: string): string => resolve(flags.dir ?? join(HOME, jobName));

export const embeddedStore = (folder: string): string => `sqlite:${join(folder, 'store.db')}`;

/**
 * The store's URL and, for an embedded one, the job's folder. `JobUnknown` when no flag names one and there is not
 * exactly one. `isAwaited`: the store of a folder may be created later.
 */
export function findStore(
  flags: WhereFlags,
  isAwaited = false,
): { readonly url: string; readonly folder: string | undefined } {
  const folderOf = flags.dir && resolve(flags.dir);
  // A folder on the command line goes before a store in the environment.
  const isFromEnvironment = flags.store !== undefined && flags.store === storeAtHome(process.env.PADDLET_STORE ?? '');
  if (folderOf && isFromEnvironment && existsSync(join(folderOf, 'store.db'))) {
    return { url: embeddedStore(folderOf), folder: folderOf };
  }
  if (flags.store !== undefined) return { url: flags.store, folder: flags.dir && resolve(flags.dir) };
  const folder = flags.dir === undefined ? onlyJobFolder(flags) : resolve(flags.dir);
  if (!isAwaited && !hasStore(folder)) {
    throw new PaddletError('JobUnknown', `no job in ${folder}: store.db is missing`, { hint: HINT });
  }
  return { url: embeddedStore(folder), folder };
}

const HINT =
  'train a job with `paddlet run FILE`, or choose its folder with --dir FOLDER, or its store with --store URL (or PADDLET_STORE)';

export const hasStore = (folder: string): boolean => existsSync(join(folder, 'store.db'));

/** Names of the jobs in ./.paddlet. */
export const jobsAtHome = (isJob: (folder: string) => boolean = hasStore): string[] => jobsIn(HOME, isJob);

/** Names of the folders in `folder` that are those of jobs. */
export function jobsIn(folder: string, isJob: (folder: string) => boolean): string[] {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => isJob(join(folder, name)))
        .sort()
    : [];
}

/** Throws `JobUnknown` when there is not exactly one. */
export function onlyJobFolder(
  { typed }: WhereFlags,
  isJob: (folder: string) => boolean = hasStore,
  what = 'job',
): string {
  const home = resolve(HOME);
  const jobs = jobsAtHome(isJob);
  if (jobs.length === 1) return join(home, jobs[0]!);
  const found = jobs.length === 0 ? `no ${what} in ${home}` : `several jobs in ${home}: ${jobs.join(', ')}`;
  const hint = jobs.length === 0 || typed === undefined ? HINT : `name one: ${commandFor(jobs[0]!, typed)}`;
  throw new PaddletError('JobUnknown', found, { hint });
}

/** The command with the name that was probably meant, or the names that there are. */
export function nearestHint(word: string, jobs: readonly string[], typed: TypedCommand | undefined): string {
  if (jobs.length === 0) return HINT;
  const near = nearest(word, jobs);
  if (near === undefined || typed === undefined) return `there are ${jobs.join(', ')}`;
  return `did you mean ${commandFor(near, typed)}?`;
}

/** The job's prefix in the store; without --chroot the store's only job. `undefined` when there is no job yet. */
export async function findChroot(store: Store, where: WhereFlags): Promise<string | undefined> {
  if (where.chroot !== undefined) return where.chroot;
  return onlyJob(store, await listJobs(store), where);
}

function onlyJob(store: Store, names: readonly string[], { store: url, typed }: WhereFlags): string | undefined {
  const [first] = names;
  if (first === undefined) return undefined;
  if (names.length === 1) return defaultChroot(first);
  const chroot = ['--chroot', defaultChroot(first)];
  // A word names the folder of an embedded store, not one of the jobs in it.
  const isNamedByWord = url !== undefined && typed?.job === undefined;
  const line = typed && (isNamedByWord ? commandFor(first, typed) : commandWith(chroot, typed));
  throw new PaddletError('JobUnknown', `${store.url} has several jobs: ${names.join(', ')}`, {
    hint: line === undefined ? `choose one with ${chroot.join(' ')}` : `name one: ${line}`,
  });
}

/** For a store that has no job, or not the one that was meant. */
export async function unknownJob(store: Store, { chroot, typed }: WhereFlags): Promise<PaddletError> {
  const jobs = await listJobs(store);
  const name = chroot === undefined || jobs.length === 0 ? undefined : basename(chroot);
  if (name !== undefined) {
    return new PaddletError('JobUnknown', `no job ${name} in ${store.url}`, {
      hint: nearestHint(name, jobs, typed),
    });
  }
  return new PaddletError('JobUnknown', `no job in ${store.url}`, {
    hint: 'start one with `paddlet run JOB` or `paddlet master JOB`',
  });
}

/**
 * Waits for the first job in the store, since any start order works. Throws `Interrupted` when the signal aborts first.
 */
export async function waitForChroot(
  store: Store,
  where: WhereFlags,
  host: Pick<Host, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<string> {
  // `follow` reads all keys: not needed where the store already has a job.
  const found = await findChroot(store, where);
  if (found !== undefined) return found;
  const jobs = new Set<string>();
  const changed = createSignal();
  let ended: Error | undefined;
  const observe = ({ key }: KeyValue): void => {
    const name = JOB_KEY.exec(key)?.[1];
    if (name !== undefined) jobs.add(name);
    changed.notify();
  };
  const cancel = follow(
    store,
    ROOT,
    {
      onSnapshot: (entries) => entries.forEach(observe),
      onEvents: (events) => {
        for (const event of events) if (event.type === 'put') observe(event.entry);
      },
      onEnd: (error) => {
        ended = error;
        changed.notify();
      },
      onWaiting: storeWaitLogger({ ...host, store }),
    },
    host.clock,
  );
  try {
    host.log.info(`waiting for a job in ${store.url}`);
    return await changed.until(() => {
      if (ended !== undefined) throw ended;
      return onlyJob(store, [...jobs], where);
    }, signal);
  } finally {
    cancel();
  }
}

const JOB_KEY = new RegExp(`^${ROOT}([^/]+)/job$`);
