/** What trainers could not do last, until they succeed again: for those who ask why a job makes no progress. */
import type { Clock } from '../../base/seams.ts';
import type { FailureInfo } from '../../view/info.ts';

/** Time after which the failure of a trainer that has reported nothing since is dropped. */
const KEPT_MS = 60_000;
const TEXT_LENGTH = 300;

export interface ReportedFailure extends Pick<FailureInfo, 'what' | 'code' | 'error'> {
  /** Sync mode: the round of the lane. */
  readonly round?: number;
}

interface Failure extends ReportedFailure {
  readonly times: number;
  readonly atMs: number;
}

export class Failures {
  readonly #clock: Clock;
  readonly #latest = new Map<string, Failure>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(trainer: string, failure: ReportedFailure): void {
    this.#forgetOld();
    const times = (this.#latest.get(trainer)?.times ?? 0) + 1;
    const error = failure.error.slice(0, TEXT_LENGTH);
    this.#latest.set(trainer, { ...failure, error, times, atMs: this.#clock.monotonicMs() });
  }

  succeeded(trainer: string): void {
    this.#latest.delete(trainer);
  }

  /** The newest first. `round`: the one that is computed; lanes of rounds before it were computed after all. */
  list(round = 0): FailureInfo[] {
    this.#forgetOld();
    for (const [trainer, failure] of this.#latest) {
      if (failure.round !== undefined && failure.round < round) this.#latest.delete(trainer);
    }
    const nowMs = this.#clock.monotonicMs();
    return [...this.#latest]
      .map(([trainer, { what, code, error, times, atMs }]) => {
        return { trainer, what, code, error, times, agoMs: Math.round(nowMs - atMs) };
      })
      .sort((a, b) => a.agoMs - b.agoMs);
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [trainer, { atMs }] of this.#latest) if (nowMs - atMs > KEPT_MS) this.#latest.delete(trainer);
  }
}
