/**
 * The files of this pserver that other pservers are reading through it. These files are kept, regardless of the number
 * of newer ones. Otherwise a slow reader would have to start again with each newer file, and might never finish.
 */
import type { Clock } from '../../../base/seams.ts';

/** A reader that has not asked for the next part for this long is presumed dead. */
const HOLD_MS = 15_000;
/** Most files to keep, since each takes the space of a checkpoint. */
const MOST_HELD = 4;

export class FileReads {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** File → time of the last request for a part of it, in the order of the first requests. */
  readonly #askedMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** A reader asks for a part of the file. Files whose reads started first are kept. */
  asked(uuid: string): void {
    const held = this.inProgress();
    if (held.includes(uuid) || held.length < MOST_HELD) this.#askedMs.set(uuid, this.#clock.monotonicMs());
  }

  inProgress(): string[] {
    const sinceMs = this.#clock.monotonicMs() - HOLD_MS;
    for (const [uuid, askedMs] of this.#askedMs) if (askedMs < sinceMs) this.#askedMs.delete(uuid);
    return [...this.#askedMs.keys()];
  }
}
