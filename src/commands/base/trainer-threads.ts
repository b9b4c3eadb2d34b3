/** The threads of a trainer: as many as its command asks for, or as the machine grants. */
import { LIMITS } from '../../base/limits.ts';
import { grantedThreads } from '../../host/machine.ts';
import { THREAD_WORDS } from '../../host/thread-words.ts';
import { startThread } from '../../host/threads.ts';
import type { TrainerThreads } from '../../roles/trainer/train-job.ts';

/** Set by `paddlet run`: how many processes of the job share what the machine grants. */
export const SHARERS_VARIABLE = 'PADDLET_SHARERS';

/**
 * Bytes of data that a trainer reads in its own thread before it starts others unasked: about a quarter of a second. A
 * small job is done by then, or reads its next passes from the cache.
 */
const BYTES_BEFORE_START = 32 * 1024 * 1024;

/** `asked`: how many threads the command asks for. */
export function trainerThreads(asked: number | undefined): TrainerThreads {
  const sharers = Number(process.env[SHARERS_VARIABLE]) || 1;
  const granted = Math.floor(grantedThreads() / sharers);
  const count = asked ?? Math.max(1, Math.min(LIMITS.trainerThreads, granted));
  return {
    readers: count - 1,
    bytesBeforeStart: asked === undefined ? BYTES_BEFORE_START : 0,
    start: (data) => startThread(THREAD_WORDS.trainer, data),
  };
}
