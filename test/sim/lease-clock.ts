/** The clock that a simulated store counts its leases on. */
import type { Cancel, Clock } from '../../src/base/seams.ts';
import type { Timeline } from './timeline.ts';

/** It can be stopped, and all leases with it. */
export class LeaseClock implements Clock {
  readonly #timeline: Timeline;
  readonly #timers = new Set<{ leftMs: number; sinceMs: number; fire: () => void; cancel: Cancel }>();
  #pauses = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  monotonicMs = (): number => this.#timeline.nowMs;
  wallSeconds = (): number => this.#timeline.nowMs / 1000;

  after(delayMs: number, fire: () => void): Cancel {
    const timer = { leftMs: delayMs, sinceMs: 0, fire, cancel: () => {} };
    this.#timers.add(timer);
    if (this.#pauses === 0) this.#start(timer);
    return () => {
      this.#timers.delete(timer);
      timer.cancel();
    };
  }

  pause(): Cancel {
    this.#pauses += 1;
    if (this.#pauses === 1) {
      for (const timer of this.#timers) {
        timer.cancel();
        timer.leftMs -= this.#timeline.nowMs - timer.sinceMs;
      }
    }
    return () => {
      this.#pauses -= 1;
      if (this.#pauses === 0) for (const timer of this.#timers) this.#start(timer);
    };
  }

  #start(timer: { leftMs: number; sinceMs: number; fire: () => void; cancel: Cancel }): void {
    timer.sinceMs = this.#timeline.nowMs;
    timer.cancel = this.#timeline.after(timer.leftMs, () => {
      this.#timers.delete(timer);
      timer.fire();
    });
  }
}
