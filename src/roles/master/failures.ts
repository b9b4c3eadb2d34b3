/** What trainers could not do last, until they succeed again: for those who ask why a job makes no progress. */
import type { Clock } from '../../base/seams.ts';
import type { FailureInfo } from '../../cluster/info.ts';

/** Of a trainer that has reported nothing since. */
const KEPT_MS = 60_000;
const TEXT_LENGTH = 300;

interface Failure extends Pick<FailureInfo, 'what' | 'code' | 'error' | 'times'> {
  readonly atMs: number;
}

export class Failures {
  readonly #clock: Clock;
  readonly #latest = new Map<string, Failure>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(trainer: string, { what, code, error }: Pick<FailureInfo, 'what' | 'code' | 'error'>): void {
    const times = (this.#latest.get(trainer)?.times ?? 0) + 1;
    const atMs = this.#clock.monotonicMs();
    this.#latest.set(trainer, { what, code, error: error.slice(0, TEXT_LENGTH), times, atMs });
  }

  succeeded(trainer: string): void {
    this.#latest.delete(trainer);
  }

  /** The newest first. */
  list(): FailureInfo[] {
    const nowMs = this.#clock.monotonicMs();
    for (const [trainer, { atMs }] of this.#latest) if (nowMs - atMs > KEPT_MS) this.#latest.delete(trainer);
    return [...this.#latest]
      .map(([trainer, { atMs, ...failure }]) => ({ trainer, ...failure, agoMs: Math.round(nowMs - atMs) }))
      .sort((a, b) => a.agoMs - b.agoMs);
  }
}
