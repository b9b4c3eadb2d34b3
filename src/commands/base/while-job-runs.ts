/** Work with the live processes of a job: they leave when it ends, and do not come back. */
import { isPaddletError } from '../../base/errors.ts';
import { followKey } from '../../store/follow-key.ts';
import type { JobInStore } from './with-job.ts';

/**
 * Runs `act` with a signal that aborts when the job ends, too; undefined when that came first. An error that `act`
 * passes to `onFatal` (the store can no longer be followed) is thrown.
 */
export async function whileJobRuns<T>(
  { host, store, keys }: Pick<JobInStore, 'host' | 'store' | 'keys'>,
  signal: AbortSignal,
  act: (stopSignal: AbortSignal, onFatal: (error: Error) => void) => Promise<T>,
): Promise<T | undefined> {
  const done = new AbortController();
  let hasEnded = false;
  const onFatal = (error: Error): void => done.abort(error);
  const cancel = followKey(
    store,
    keys.result,
    {
      onValue: (entry) => {
        if (entry === undefined) return;
        hasEnded ||= !done.signal.aborted;
        done.abort();
      },
      onEnd: onFatal,
    },
    host.clock,
  );
  try {
    return await act(AbortSignal.any([signal, done.signal]), onFatal);
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted') || signal.aborted || !done.signal.aborted) throw error;
    if (!hasEnded) throw done.signal.reason;
    return undefined;
  } finally {
    cancel();
  }
}
