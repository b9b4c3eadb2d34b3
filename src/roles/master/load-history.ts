/** The curves of the job, as they are saved. */
import { isPaddletError } from '../../base/errors.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { type History, NO_HISTORY, parseHistory } from '../../core/history.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';

/** Throws `StoreValueInvalid`. */
export async function readHistory(store: Store, keys: Keys): Promise<History> {
  const entry = await store.get(keys.history);
  return entry === undefined ? NO_HISTORY : parseHistory(entry.key, entry.value);
}

/** The curves for a master. If they cannot be read they start again, since training does not need them. */
export async function loadHistory({ store, keys, ...context }: RoleContext, signal: AbortSignal): Promise<History> {
  try {
    return await retryStore({ ...context, store, keys }, () => readHistory(store, keys), signal);
  } catch (error) {
    if (!isPaddletError(error, 'StoreValueInvalid')) throw error;
    context.host.log.warn(`the curves of the job start again: ${error.message}`);
    return NO_HISTORY;
  }
}
