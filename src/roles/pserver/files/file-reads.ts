/**
 * Which files of this pserver others are reading through it. They stay while they are read, however many newer ones
 * there are: a reader that needs longer than newer files take to come would otherwise begin again for ever.
 */
import type { Clock } from '../../../base/seams.ts';

/** A reader asks for the next part sooner, or has gone. */
const HOLD_MS = 15_000;
/** More are not kept: each takes the space of a checkpoint. */
const MOST_HELD = 4;

export class FileReads {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** File → when a part of it was asked for last, by the time at which the first one was. */
  readonly #askedMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** A part of the file is asked for. Those that were begun first are kept. */
  asked(uuid: string): void {
    const held = this.underWay();
    if (held.includes(uuid) || held.length < MOST_HELD) this.#askedMs.set(uuid, this.#clock.monotonicMs());
  }

  underWay(): string[] {
    const sinceMs = this.#clock.monotonicMs() - HOLD_MS;
    for (const [uuid, askedMs] of this.#askedMs) if (askedMs < sinceMs) this.#askedMs.delete(uuid);
    return [...this.#askedMs.keys()];
  }
}
