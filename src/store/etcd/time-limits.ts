/** Time limits of the calls in progress, all ended at once when the store is closed. */
import type { Cancel, Clock } from '../../base/seams.ts';
import { EtcdCallError } from './call-error.ts';

/** To reach a member, and again for its answer. */
export const CALL_LIMIT_MS = 2_000;

export class TimeLimits {
  readonly #clock: Clock;
  readonly #running = new Set<Cancel>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Throws when the store was closed: then nothing more is sent. */
  checkOpen(): void {
    if (this.#isClosed) throw new EtcdCallError('the store was closed', { isInDoubt: false });
  }

  /**
   * Calls `end` once, when `limitMs` have passed or the store is closed, unless the returned function is called first.
   */
  start(limitMs: number, end: (why: 'late' | 'closed') => void): Cancel {
    const stop = (): void => {
      cancelTimer();
      this.#running.delete(close);
    };
    const close = (): void => {
      stop();
      end('closed');
    };
    const cancelTimer = this.#clock.after(limitMs, () => {
      stop();
      end('late');
    });
    this.#running.add(close);
    return stop;
  }

  close(): void {
    this.#isClosed = true;
    for (const close of [...this.#running]) close();
  }
}
