/** Pservers that have not taken a unit: they are left alone for a while, longer each time. */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/seams.ts';

const ASK_AGAIN: Backoff = { firstMs: 500, capMs: 15_000 };

/** Of two copies at a time, twice. One that has a reason of its own, such as a view that is behind, takes it soon. */
const MANY = 4;

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

  /** It has refused again and again, and is left alone now: others get what it would. */
  isPassedOver(index: number): boolean {
    return (this.#refused.get(index)?.times ?? 0) >= MANY && this.notBeforeMs(index) !== undefined;
  }

  /** When the next one may be asked again. */
  nextMs(): number | undefined {
    const times = [...this.#refused.keys()].flatMap((index) => this.notBeforeMs(index) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
