/** Work with the live processes of a job: they leave when it ends, and do not come again. */
import { isPaddletError } from '../../base/errors.ts';
import { followKey } from '../../store/follow-key.ts';
import type { JobInStore } from './live-cluster.ts';

/**
 * Runs `act` with a signal that aborts also when the job ends; undefined when that came first. What `act` calls `crash` with
 * (a store that cannot be followed any more) is thrown.
 */
export async function untilEnd<T>(
  { host, store, keys }: Pick<JobInStore, 'host' | 'store' | 'keys'>,
  signal: AbortSignal,
  act: (either: AbortSignal, crash: (error: Error) => void) => Promise<T>,
): Promise<T | undefined> {
  const over = new AbortController();
  let hasEnded = false;
  const crash = (error: Error): void => over.abort(error);
  const cancel = followKey(
    store,
    keys.result,
    {
      onValue: (entry) => {
        if (entry === undefined) return;
        hasEnded ||= !over.signal.aborted;
        over.abort();
      },
      onEnd: crash,
    },
    host.clock,
  );
  try {
    return await act(AbortSignal.any([signal, over.signal]), crash);
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted') || signal.aborted || !over.signal.aborted) throw error;
    if (!hasEnded) throw over.signal.reason;
    return undefined;
  } finally {
    cancel();
  }
}
