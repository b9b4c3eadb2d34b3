/** Waits for a state of a job by watching its keys. */
import type { Clock } from '../../base/seams.ts';
import { parseClusterStatus } from '../../cluster/job/cluster-status.ts';
import { type FollowHandlers, follow } from '../../store/follow.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';

export interface WaitOptions {
  readonly clock: Clock;
  readonly store: Store;
  readonly keys: Keys;
  readonly signal: AbortSignal;
}

/** Keys to values. */
export type Entries = ReadonlyMap<string, string>;

/**
 * Returns when `reached` is true of the keys under the job's chroot; throws the signal's reason when it aborts first.
 */
export const waitUntil = (options: WaitOptions, reached: (entries: Entries) => boolean): Promise<void> =>
  waitFor({ ...options, prefixes: [`${options.keys.chroot}/`], keep: ({ value }) => value }, reached);

/** The same for keys under these prefixes, with their revisions. */
export const waitUntilKeys = (
  options: WaitOptions & { readonly prefixes: readonly string[] },
  reached: (entries: ReadonlyMap<string, KeyValue>) => boolean,
): Promise<void> => waitFor({ ...options, keep: (entry) => entry }, reached);

interface WaitForOptions<T> extends WaitOptions {
  /** None of them is the beginning of another. */
  readonly prefixes: readonly string[];
  readonly keep: (entry: KeyValue) => T;
}

function waitFor<T>(options: WaitForOptions<T>, reached: (entries: ReadonlyMap<string, T>) => boolean): Promise<void> {
  const { store, clock, signal, prefixes, keep } = options;
  const entries = new Map<string, T>();
  const unread = new Set(prefixes);
  return new Promise<void>((resolve, reject) => {
    const end = (act: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      for (const cancel of cancels) cancel();
      act();
    };
    const onAbort = (): void => end(() => reject(signal.reason));
    const look = (): void => {
      if (unread.size === 0 && reached(entries)) end(resolve);
    };
    const handlersOf = (prefix: string): FollowHandlers => ({
      onSnapshot: (all) => {
        for (const key of entries.keys()) if (key.startsWith(prefix)) entries.delete(key);
        for (const entry of all) entries.set(entry.key, keep(entry));
        unread.delete(prefix);
        look();
      },
      onEvents: (events) => {
        for (const event of events) {
          if (event.type === 'put') entries.set(event.entry.key, keep(event.entry));
          else entries.delete(event.key);
        }
        look();
      },
      onEnd: (error) => end(() => reject(error)),
    });
    const cancels = prefixes.map((prefix) => follow(store, prefix, handlersOf(prefix), clock));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * `running`: a master, all pservers with all shards, and a trainer work, or the job has ended. `done`: it has ended.
 */
export function isReached(keys: Keys, entries: Entries, until: 'running' | 'done'): boolean {
  if (entries.has(keys.result)) return true;
  if (until === 'done') return false;
  const status = entries.get(keys.clusterStatus);
  if (status === undefined || !entries.has(keys.masterAddr)) return false;
  const isOk = parseClusterStatus(keys.clusterStatus, status).cluster_status === 'OK';
  return isOk && [...entries.keys()].some((key) => key.startsWith(keys.trainersPrefix));
}

/** Keys of live processes: each hangs on its process's lease. */
export function liveRoles(keys: Keys, entries: Entries): string[] {
  const prefixes = [keys.masterLock, keys.psPrefix, keys.trainersPrefix];
  return [...entries.keys()].filter((key) => prefixes.some((prefix) => key.startsWith(prefix)));
}
