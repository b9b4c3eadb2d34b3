/**
 * Pservers that have refused a unit or a copy. The planner leaves each of them alone for a while, longer each time.
 *
 * Invariant: if a pserver takes a unit or a copy, its earlier refusals no longer count.
 *
 * Weakness: pservers are identified by index. A new process at the index of one that refused has to wait as long.
 */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/seams.ts';
import { MOST_AT_A_TIME } from './duties.ts';

const ASK_AGAIN: Backoff = { firstMs: 500, capMs: 15_000 };

/**
 * A pserver is passed over after this many refusals: two for each transfer that may be under way. A pserver that
 * refuses only for a short while, for example because its view is behind, takes a transfer before.
 */
const MANY = 2 * MOST_AT_A_TIME;

export class RefusedTargets {
  readonly #clock: Clock;
  /** Index → number of refusals, and until when to leave the pserver alone. */
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

  /** When the pserver may be asked again; undefined: now. */
  notBeforeMs(index: number): number | undefined {
    const untilMs = this.#refused.get(index)?.untilMs;
    return untilMs === undefined || untilMs <= this.#clock.monotonicMs() ? undefined : untilMs;
  }

  /** Whether the pserver has refused repeatedly and is left alone now, so that others get its units. */
  isPassedOver(index: number): boolean {
    return (this.#refused.get(index)?.times ?? 0) >= MANY && this.notBeforeMs(index) !== undefined;
  }

  /** When the next pserver may be asked again. */
  nextMs(): number | undefined {
    const times = [...this.#refused.keys()].flatMap((index) => this.notBeforeMs(index) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
