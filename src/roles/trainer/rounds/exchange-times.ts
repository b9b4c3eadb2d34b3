/**
 * Sync mode: times the exchange that ends a round. When it fails, or another assignment of lanes interrupts it, the
 * time counts on until the next one succeeds: the trainer still lacks what it waited for.
 */
import type { Clock } from '../../../base/seams.ts';
import type { RequestTimes } from '../request-times.ts';

export class ExchangeTimes {
  readonly #clock: Clock;
  readonly #times: RequestTimes;
  #beganMs: number | undefined;
  #deliveredMs: number | undefined;
  #waitedMs = 0;

  constructor(clock: Clock, times: RequestTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  begin(): void {
    this.#beganMs ??= this.#clock.monotonicMs();
    this.#deliveredMs = undefined;
    this.#waitedMs = 0;
  }

  /** Every pserver has the lanes. */
  delivered(): void {
    this.#deliveredMs = this.#clock.monotonicMs();
  }

  /** A pserver has answered with the version; so long it waited for lanes. The last answer is what was waited for. */
  reached(waitedMs: number): void {
    this.#waitedMs = waitedMs;
  }

  /** The version is there. `lanes`: of this trainer, in the round before. */
  end(lanes: number): void {
    const nowMs = this.#clock.monotonicMs();
    const beganMs = this.#beganMs ?? nowMs;
    this.#beganMs = undefined;
    this.#times.answered('pull', Math.max(0, nowMs - beganMs - this.#waitedMs));
    if (lanes === 0) return;
    // The version says as much as acknowledgements that are still under way.
    this.#times.answered('push', (this.#deliveredMs ?? nowMs) - beganMs);
    this.#times.answered('barrier', nowMs - beganMs);
  }

  /** Nothing is waited for. */
  clear(): void {
    this.#beganMs = undefined;
  }
}
