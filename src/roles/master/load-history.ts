import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { type History, NO_HISTORY, parseHistory } from '../../core/history.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';

export async function readHistory(store: Store, keys: Keys): Promise<History> {
  const entry = await store.get(keys.history);
  return entry === undefined ? NO_HISTORY : parseHistory(entry.key, entry.value);
}

export const loadHistory = ({ store, keys, ...context }: RoleContext, signal: AbortSignal): Promise<History> =>
  retryStore({ ...context, store, keys }, () => readHistory(store, keys), signal);
