/**
 * Mirrors the keys under a prefix: list, then watch from the revision after; list again when the watch cannot continue.
 */
import { backoffMs } from '../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../base/errors.ts';
import type { Cancel, Clock } from '../base/seams.ts';
import type { KeyValue, Store, WatchEvent } from './store.ts';

export interface FollowHandlers {
  /**
   * The state under the prefix at `revision`. It comes first, and again after history was lost: it replaces the mirror.
   */
  onSnapshot(entries: readonly KeyValue[], revision: bigint): void;
  /** What one revision after the snapshot changed. */
  onEvents(events: readonly WatchEvent[], revision: bigint): void;
  /**
   * The mirror cannot continue at all (`StoreReplaced`, `StoreInvalid`), or a handler threw a PaddletError
   * (`StoreValueInvalid`).
   */
  onEnd(error: Error): void;
  /** The store did not answer; the call is repeated. For messages. */
  onWaiting?(error: PaddletError): void;
}

/** The handlers are not called inside this call, and never after the cancel. */
export function follow(store: Store, prefix: string, handlers: FollowHandlers, clock: Clock): Cancel {
  let isCancelled = false;
  let cancelCurrent: Cancel = () => {};
  let failures = 0;

  const retry = (error: Error): void => {
    if (isCancelled) return;
    if (!isPaddletError(error, 'StoreUnavailable', 'StoreUnknownOutcome', 'StoreCompacted')) {
      isCancelled = true;
      handlers.onEnd(error);
      return;
    }
    if (error.code !== 'StoreCompacted') handlers.onWaiting?.(error);
    cancelCurrent = clock.after(backoffMs(failures++), () => void list());
  };
  /** What a handler makes of a value may be an error to report; anything else it throws is a bug. */
  const handled = (handle: () => void): void => {
    try {
      handle();
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      cancelCurrent();
      if (isCancelled) return;
      isCancelled = true;
      handlers.onEnd(error);
    }
  };
  const list = async (): Promise<void> => {
    let range: Awaited<ReturnType<Store['range']>>;
    try {
      range = await store.range({ prefix });
    } catch (error) {
      if (isCancelled) return;
      if (!isPaddletError(error)) throw error;
      return retry(error);
    }
    if (isCancelled) return;
    handled(() => handlers.onSnapshot(range.entries, range.revision));
    if (isCancelled) return;
    cancelCurrent = store.watch(prefix, range.revision + 1n, {
      onEvents: (events, revision) => {
        failures = 0;
        if (!isCancelled) handled(() => handlers.onEvents(events, revision));
      },
      onEnd: retry,
    });
  };

  void list();
  return () => {
    isCancelled = true;
    cancelCurrent();
  };
}
