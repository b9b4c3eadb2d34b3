/** Pservers that have not taken a unit: they are left alone for a while, longer each time. */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/seams.ts';

const ASK_AGAIN: Backoff = { firstMs: 500, capMs: 15_000 };

export class Refusals {
  readonly #clock: Clock;
  /** By index. */
  readonly #refused = new Map<number, { readonly times: number; readonly untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  refused(index: number): void {
    const times = this.#refused.get(index)?.times ?? 0;
    this.#refused.set(index, { times: times + 1, untilMs: this.#clock.monotonicMs() + backoffMs(times, ASK_AGAIN) });
  }

  taken(index: number): void {
    this.#refused.delete(index);
  }

  /** When it may be asked again; undefined: now. */
  notBeforeMs(index: number): number | undefined {
    const untilMs = this.#refused.get(index)?.untilMs;
    return untilMs === undefined || untilMs <= this.#clock.monotonicMs() ? undefined : untilMs;
  }
}
