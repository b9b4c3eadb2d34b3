/** Waits for the owners of some keys to leave: by exiting, or by the end of their leases. */
import { isPaddletError } from '../base/errors.ts';
import { follow } from '../store/follow.ts';
import { abortAfter } from './abort.ts';
import type { StoreContext } from './context.ts';
import { createSignal } from './waiting.ts';

export interface LeaveOptions {
  /** Undefined: however long it takes. */
  readonly patienceMs: number | undefined;
  readonly signal: AbortSignal;
  /** Called with the keys and values that are left, as often as they change. */
  readonly onLeft?: (left: ReadonlyMap<string, string>) => void;
}

/**
 * What is left under the prefix: nothing, or after `patienceMs` the keys that still exist, with their values. Throws
 * `Interrupted` when `signal` aborts first, and the store's error when it cannot be followed.
 */
export async function untilNoneLeft(
  context: StoreContext,
  prefix: string,
  { patienceMs, signal, onLeft }: LeaveOptions,
): Promise<ReadonlyMap<string, string>> {
  const { store, host } = context;
  const left = new Map<string, string>();
  const changed = createSignal();
  let isKnown = false;
  let ended: Error | undefined;
  const look = (): void => {
    onLeft?.(left);
    changed.notify();
  };
  const cancel = follow(
    store,
    prefix,
    {
      onSnapshot: (entries) => {
        left.clear();
        for (const { key, value } of entries) left.set(key, value);
        isKnown = true;
        look();
      },
      onEvents: (events) => {
        for (const event of events) {
          if (event.type === 'put') left.set(event.entry.key, event.entry.value);
          else left.delete(event.key);
        }
        look();
      },
      onEnd: (error) => {
        ended = error;
        changed.notify();
      },
    },
    host.clock,
  );
  const late = patienceMs === undefined ? undefined : abortAfter(host.clock, patienceMs);
  try {
    await changed.until(
      () => {
        if (ended !== undefined) throw ended;
        return isKnown && left.size === 0 ? true : undefined;
      },
      late === undefined ? signal : AbortSignal.any([signal, late.signal]),
    );
  } catch (error) {
    if (signal.aborted || late?.signal.aborted !== true || !isPaddletError(error, 'Interrupted')) throw error;
  } finally {
    late?.cancel();
    cancel();
  }
  return left;
}
