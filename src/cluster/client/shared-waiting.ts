/** Several requests that wait at a time say so once: what the first of them waits for, and periodically. */
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { logWaiting } from '../waiting.ts';

export class SharedWaiting {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Waits in the order in which they began. */
  readonly #waiting = new Set<{ readonly what: () => string }>();
  #stopLogging: Cancel | undefined;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Begins a wait, as `logWaiting` does. */
  begin(what: () => string): Cancel {
    const one = { what };
    this.#waiting.add(one);
    this.#stopLogging ??= logWaiting(this.#clock, this.#log, () => this.#first());
    return () => {
      this.#waiting.delete(one);
      if (this.#waiting.size > 0) return;
      this.#stopLogging?.();
      this.#stopLogging = undefined;
    };
  }

  #first(): string {
    const [first] = this.#waiting;
    return first!.what();
  }
}
