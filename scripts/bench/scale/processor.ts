/** One core for each simulated process: what reaches it waits until it is free, and what it sends leaves after that. */
import type { Processor } from '../../../test/sim/process.ts';
import type { Timeline } from '../../../test/sim/timeline.ts';

interface Work {
  readonly ms: number;
  readonly run: () => void;
}

export class OneCore implements Processor {
  /** Taken by all that was done so far, and by what has begun. */
  busyMs = 0;
  freeAtMs = 0;
  readonly #timeline: Timeline;
  readonly #waiting: Work[] = [];
  #isTaking = false;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  take(ms: number, run: () => void): void {
    this.#waiting.push({ ms, run });
    if (this.#isTaking) return;
    this.#isTaking = true;
    this.#next();
  }

  spend(ms: number): void {
    this.freeAtMs = Math.max(this.freeAtMs, this.#timeline.nowMs) + ms;
    this.busyMs += ms;
  }

  /** Looks again after each piece of work: what it set off may have taken time, too. */
  #next(): void {
    if (this.freeAtMs > this.#timeline.nowMs) {
      this.#timeline.at(this.freeAtMs, () => this.#next());
      return;
    }
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#isTaking = false;
      return;
    }
    this.spend(next.ms);
    this.#timeline.at(this.freeAtMs, () => {
      next.run();
      this.#timeline.at(this.#timeline.nowMs, () => this.#next());
    });
  }
}
