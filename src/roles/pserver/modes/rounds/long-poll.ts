/**
 * Sync mode: lets requests wait for a change, for a limited time. Every pull of sync mode waits here, so the wait is
 * made of callbacks: joining abort signals costs more than the rest of such a pull.
 */
import type { PaddletError } from '../../../../base/errors.ts';
import type { Clock } from '../../../../base/seams.ts';
import type { Signal } from '../../../../cluster/waiting.ts';
import type { Session } from '../../../../protocol/messages/channel.ts';

export interface LongPollOptions {
  readonly clock: Clock;
  readonly changed: Signal;
  readonly session: Session;
  readonly maxWaitMs: number;
  /** Aborts when the wait has become pointless. */
  readonly done: AbortSignal;
  /** Thrown when `done` aborts. */
  readonly doneError: () => PaddletError;
}

/** The first defined answer of `look`; undefined after `maxWaitMs` or when the session ends. */
export async function longPoll<T>(look: () => T | undefined, options: LongPollOptions): Promise<T | undefined> {
  const { clock, changed, session, maxWaitMs, done } = options;
  const found = look();
  if (found !== undefined || maxWaitMs === 0) return found;
  let isOver = done.aborted;
  let wake = (): void => {};
  const end = (): void => {
    isOver = true;
    wake();
  };
  const cancels = [clock.after(maxWaitMs, end), session.onClosed(end)];
  done.addEventListener('abort', end, { once: true });
  try {
    while (!isOver) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const forget = changed.onNext(resolve);
      await promise;
      forget();
      const late = isOver ? undefined : look();
      if (late !== undefined) return late;
    }
    if (done.aborted) throw options.doneError();
    return undefined;
  } finally {
    for (const cancel of cancels) cancel();
    done.removeEventListener('abort', end);
  }
}
