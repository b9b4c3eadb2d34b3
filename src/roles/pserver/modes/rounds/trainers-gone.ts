/**
 * Sync mode, when the whole job is asked to stop: pservers wait for the trainers to leave, and the trainers leave only
 * after every pserver has the same lanes of the current round. Otherwise one pserver could have completed the round and
 * another could lack a lane that no trainer keeps any more, and all would have to go back to the last cut.
 */
import { isPaddletError } from '../../../../base/errors.ts';
import type { RoleContext } from '../../../../cluster/context.ts';
import { untilNoneLeft } from '../../../../cluster/until-none-left.ts';

/** Longer than trainers need; one that takes longer is stuck, and is not waited for. */
const TRAINERS_LEAVE_MS = 5_000;

/** Resolves when no trainer is registered any more, after TRAINERS_LEAVE_MS, or when `signal` aborts. */
export async function trainersGone(context: RoleContext, signal: AbortSignal): Promise<void> {
  const { keys, host } = context;
  try {
    const left = await untilNoneLeft(context, keys.trainersPrefix, { patienceMs: TRAINERS_LEAVE_MS, signal });
    if (left.size === 0) return;
    host.log.warn('trainers are still registered: no longer waiting for them', { trainers: left.size });
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    if (error.code !== 'Interrupted') host.log.warn(`not waiting for trainers to leave: ${error.message}`);
  }
}
