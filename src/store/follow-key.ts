/** Mirrors one key. */
import type { Cancel, Clock } from '../base/seams.ts';
import { follow } from './follow.ts';
import type { KeyValue, Store } from './store.ts';

export interface FollowKeyHandlers {
  /**
   * The key, first as it is and then after each put; undefined while it does not exist. A PaddletError that it throws
   * ends the mirror.
   */
  onValue(entry: KeyValue | undefined): void;
  onEnd(error: Error): void;
}

/** Follows a key that is never deleted. */
export function followKey(store: Store, key: string, { onValue, onEnd }: FollowKeyHandlers, clock: Clock): Cancel {
  return follow(
    store,
    key,
    {
      onSnapshot: (entries) => onValue(entries.find((entry) => entry.key === key)),
      onEvents: (events) => {
        for (const event of events) if (event.type === 'put' && event.entry.key === key) onValue(event.entry);
      },
      onEnd,
    },
    clock,
  );
}
