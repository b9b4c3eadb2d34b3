/**
 * Sync mode, when the whole job is asked to stop: pservers wait for the trainers to leave, and the trainers leave only
 * after every pserver has the same lanes of the current round. Otherwise one pserver could have completed the round and
 * another could lack a lane that no trainer keeps any more, and all would have to go back to the last cut.
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { follow } from '../../../store/follow.ts';

/** Longer than trainers need; one that takes longer is stuck, and is not waited for. */
const TRAINERS_LEAVE_MS = 5_000;

/** Resolves when no trainer is registered any more, after TRAINERS_LEAVE_MS, or when `stopSignal` aborts. */
export async function trainersGone(context: RoleContext, stopSignal: AbortSignal): Promise<void> {
  const { store, keys, host } = context;
  const live = new Set<string>();
  const changed = createSignal();
  const late = new AbortController();
  let isKnown = false;
  const cancelFollow = follow(
    store,
    keys.trainersPrefix,
    {
      onSnapshot: (entries) => {
        live.clear();
        for (const { key } of entries) live.add(key);
        isKnown = true;
        changed.notify();
      },
      onEvents: (events) => {
        for (const event of events) {
          if (event.type === 'put') live.add(event.entry.key);
          else live.delete(event.key);
        }
        changed.notify();
      },
      onEnd: () => late.abort(),
    },
    host.clock,
  );
  const cancelTimer = host.clock.after(TRAINERS_LEAVE_MS, () => late.abort());
  try {
    await changed.until(
      () => (isKnown && live.size === 0 ? true : undefined),
      AbortSignal.any([stopSignal, late.signal]),
    );
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
    if (late.signal.aborted) {
      host.log.warn('trainers are still registered: not waiting for them any longer', { trainers: live.size });
    }
  } finally {
    cancelTimer();
    cancelFollow();
  }
}
