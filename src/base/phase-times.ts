/** Where the time of one thread goes: it is in one phase at a time. */
import type { Clock } from './seams.ts';

export class PhaseTimes<P extends string> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #phases: readonly P[];
  readonly #indexOf: ReadonlyMap<P, number>;
  /** By index. A change of phase reads the clock and adds: nothing is allocated. */
  readonly #spentMs: Float64Array;
  #phase: P;
  #sinceMs: number;

  /** Starts in the first of the phases. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, phases: readonly [P, ...P[]]) {
    this.#clock = clock;
    this.#phases = phases;
    this.#indexOf = new Map(phases.map((phase, index) => [phase, index]));
    this.#spentMs = new Float64Array(phases.length);
    this.#phase = phases[0];
    this.#sinceMs = clock.monotonicMs();
  }

  /** Returns the phase that ends with it. */
  enter(next: P): P {
    const before = this.#phase;
    const nowMs = this.#clock.monotonicMs();
    this.#spentMs[this.#indexOf.get(before)!]! += nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    this.#phase = next;
    return before;
  }

  /** Work that interrupts the phase of now. */
  during<T>(phase: P, work: () => T): T {
    const before = this.enter(phase);
    try {
      return work();
    } finally {
      this.enter(before);
    }
  }

  /** Milliseconds of each phase so far, that of now included. */
  spentMs(): Record<P, number> {
    this.enter(this.#phase);
    return Object.fromEntries(this.#phases.map((phase, index) => [phase, this.#spentMs[index]])) as Record<P, number>;
  }
}
