/**
 * A pserver that has handed over all its units stays until the others have saved them. Without a request that may take
 * as long as their next checkpoint.
 */
import { pause } from '../../base/backoff.ts';
import { isPaddletError } from '../../base/errors.ts';
import type { OpenJob } from '../base/with-job.ts';
import { saveNow } from '../checkpoint/save-now.ts';

/** Most leave sooner, if their units are saved already. */
const FIRST_MS = 1_000;
/** A save that was running already may not have all units; in sync mode two cuts may be needed. */
const AGAIN_MS = 5_000;

/** Asks for checkpoints until the signal aborts. */
export async function saveForLeavers(job: OpenJob, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const { clock, log } = job.host;
  await pause(clock, FIRST_MS, signal);
  while (!signal.aborted) {
    try {
      await saveNow(job, { timeoutMs, signal });
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      if (!signal.aborted) log.info(`the units of those that leave are not saved yet: ${error.message}`);
    }
    await pause(clock, AGAIN_MS, signal);
  }
}
