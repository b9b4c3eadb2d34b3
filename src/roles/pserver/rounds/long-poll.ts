/** Waits of requests for a change, limited in time. */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import type { Clock } from '../../../base/seams.ts';
import { type Signal, untilOrLate } from '../../../cluster/waiting.ts';
import type { Session } from '../../../protocol/messages/channel.ts';

export interface LongPollOptions {
  readonly clock: Clock;
  readonly changed: Signal;
  readonly session: Session;
  readonly maxWaitMs: number;
  /** Aborts when there is nothing to wait for any more. */
  readonly done: AbortSignal;
  /** Thrown when `done` aborts. */
  readonly doneError: () => PaddletError;
}

/** The first defined answer of `look`; undefined after `maxWaitMs` and when the session ends. */
export async function longPoll<T>(look: () => T | undefined, options: LongPollOptions): Promise<T | undefined> {
  const { clock, changed, session, maxWaitMs, done } = options;
  const found = look();
  if (found !== undefined || maxWaitMs === 0) return found;
  const closed = new AbortController();
  const cancel = session.onClosed(() => closed.abort());
  try {
    return await untilOrLate(changed, look, { clock, maxWaitMs, signal: AbortSignal.any([closed.signal, done]) });
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
    if (done.aborted) throw options.doneError();
    return undefined;
  } finally {
    cancel();
  }
}
