/**
 * Finds the store and the job that a command is about (docs/design.md §11): by --store and --chroot, by --dir, or the
 * only one.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { createSignal } from '../../cluster/waiting.ts';
import { follow } from '../../store/follow.ts';
import { defaultChroot, ROOT } from '../../store/keys.ts';
import { listJobs } from '../../store/list-jobs.ts';
import { storeWaitLogger } from '../../store/retry-until-answered.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import { storeAtHome } from './path-values.ts';

export const HOME = '.paddlet';

export interface WhereFlags {
  readonly store?: string | undefined;
  readonly chroot?: string | undefined;
  readonly dir?: string | undefined;
}

export const jobFolder = (flags: WhereFlags, jobName: string): string => resolve(flags.dir ?? join(HOME, jobName));

export const embeddedStore = (folder: string): string => `sqlite:${join(folder, 'store.db')}`;

/**
 * The store's URL and, for an embedded one, the job's folder. `JobUnknown` when no flag names one and there is not
 * exactly one.
 */
export function findStore(flags: WhereFlags): { readonly url: string; readonly folder: string | undefined } {
  const folderOf = flags.dir && resolve(flags.dir);
  // A folder on the command line goes before a store in the environment.
  const isFromEnvironment = flags.store !== undefined && flags.store === storeAtHome(process.env.PADDLET_STORE ?? '');
  if (folderOf && isFromEnvironment && existsSync(join(folderOf, 'store.db'))) {
    return { url: embeddedStore(folderOf), folder: folderOf };
  }
  if (flags.store !== undefined) return { url: flags.store, folder: flags.dir && resolve(flags.dir) };
  const folder = flags.dir === undefined ? onlyJobFolder() : resolve(flags.dir);
  if (!existsSync(join(folder, 'store.db'))) {
    throw new PaddletError('JobUnknown', `no job in ${folder}: store.db is missing`, { hint: HINT });
  }
  return { url: embeddedStore(folder), folder };
}

const HINT = "name the job's folder with --dir FOLDER, or its store with --store URL (or PADDLET_STORE)";

function onlyJobFolder(): string {
  const home = resolve(HOME);
  const folders = existsSync(home) ? readdirSync(home).filter((name) => existsSync(join(home, name, 'store.db'))) : [];
  if (folders.length === 1) return join(home, folders[0]!);
  const found = folders.length === 0 ? `no job in ${home}` : `several jobs in ${home}: ${folders.join(', ')}`;
  throw new PaddletError('JobUnknown', found, { hint: HINT });
}

/** The job's prefix in the store; without --chroot the store's only job. `undefined` when there is no job yet. */
export async function findChroot(store: Store, chroot: string | undefined): Promise<string | undefined> {
  if (chroot !== undefined) return chroot;
  return onlyJob(store, await listJobs(store));
}

function onlyJob(store: Store, names: readonly string[]): string | undefined {
  if (names.length > 1) {
    throw new PaddletError('JobUnknown', `${store.url} has several jobs: ${names.join(', ')}`, {
      hint: `choose one with --chroot ${defaultChroot(names[0]!)}`,
    });
  }
  return names[0] === undefined ? undefined : defaultChroot(names[0]);
}

/**
 * Waits for the first job in the store, since any start order works. Throws `Interrupted` when the signal aborts first.
 */
export async function waitForChroot(
  store: Store,
  chroot: string | undefined,
  host: Pick<Host, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<string> {
  // `follow` reads all keys: not needed where the store already has a job.
  const found = await findChroot(store, chroot);
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
      return onlyJob(store, [...jobs]);
    }, signal);
  } finally {
    cancel();
  }
}

const JOB_KEY = new RegExp(`^${ROOT}([^/]+)/job$`);
