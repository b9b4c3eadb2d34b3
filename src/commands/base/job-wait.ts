/** Waits for a state of a job by watching its keys. */
import type { Clock } from '../../base/seams.ts';
import { parseClusterStatus } from '../../cluster/job/cluster-status.ts';
import { follow } from '../../store/follow.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';

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
export function waitUntil(options: WaitOptions, reached: (entries: Entries) => boolean): Promise<void> {
  const { store, keys, clock, signal } = options;
  const entries = new Map<string, string>();
  return new Promise<void>((resolve, reject) => {
    const end = (act: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      cancel();
      act();
    };
    const onAbort = (): void => end(() => reject(signal.reason));
    const look = (): void => {
      if (reached(entries)) end(resolve);
    };
    const cancel = follow(
      store,
      `${keys.chroot}/`,
      {
        onSnapshot: (all) => {
          entries.clear();
          for (const { key, value } of all) entries.set(key, value);
          look();
        },
        onEvents: (events) => {
          for (const event of events) {
            if (event.type === 'put') entries.set(event.entry.key, event.entry.value);
            else entries.delete(event.key);
          }
          look();
        },
        onEnd: (error) => end(() => reject(error)),
      },
      clock,
    );
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
