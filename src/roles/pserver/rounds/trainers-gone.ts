/**
 * Mode sync, when the whole job is asked to stop: trainers first see to it that every pserver has the same lanes of the round
 * in work. Else one could have ended the round and another not, for want of a lane that nobody keeps any more, and all would
 * have to go back to the last cut.
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { follow } from '../../../store/follow.ts';

/** Longer than they take, unless something is wrong with one: then it is not waited for. */
const LEAVE_MS = 5_000;

/** Resolves when no trainer is registered any more, after so long, or when aborted. */
export async function trainersGone(context: RoleContext, over: AbortSignal): Promise<void> {
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
  const cancelTimer = host.clock.after(LEAVE_MS, () => late.abort());
  try {
    await changed.until(() => (isKnown && live.size === 0 ? true : undefined), AbortSignal.any([over, late.signal]));
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
    if (late.signal.aborted)
      host.log.warn('trainers are still there: not waiting for them to leave', { trainers: live.size });
  } finally {
    cancelTimer();
    cancelFollow();
  }
}
