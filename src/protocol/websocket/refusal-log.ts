/** Refusals are strangers' doing, as many as they like: one warning at a time, the rest is counted. */
import type { Clock, Log } from '../../base/seams.ts';

const QUIET_MS = 10_000;

export class RefusalLog {
  readonly #log: Log;
  readonly #clock: Clock;
  #saidMs = Number.NEGATIVE_INFINITY;
  #quiet = 0;

  constructor({ log, clock }: { readonly log: Log; readonly clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  warn(message: string, facts: Record<string, unknown>): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#saidMs < QUIET_MS) {
      this.#quiet++;
      this.#log.debug(message, facts);
      return;
    }
    this.#log.warn(message, this.#quiet === 0 ? facts : { ...facts, refusedBefore: this.#quiet });
    this.#saidMs = nowMs;
    this.#quiet = 0;
  }
}
