/**
 * How long this process waits for each pserver, for requests that are answered at once: so that a process that waits
 * for a slow one can say so. Requests that wait for other trainers, at the staleness bound or for a round, are not
 * among them. Only time in which this thread had nothing to do counts: an answer that comes while a step is computed is
 * late by the step.
 */
import type { Clock } from '../../base/seams.ts';
import type { RequestHeader } from '../../protocol/messages/all-messages.ts';

export interface PserverAnswers {
  readonly index: number;
  /** Moving average of the latest answers; the newest counts most. */
  readonly meanMs: number;
  /** How long the oldest unanswered request has waited; 0 without one. */
  readonly waitedMs: number;
}

interface Times {
  meanMs: number | undefined;
  /** When it answered last, on the clock that always runs. */
  answeredMs: number;
  /** When each request that has no answer was sent, by its number: the oldest comes first. */
  readonly open: Map<number, number>;
}

/** Share of the newest answer in the mean. */
const NEWEST_SHARE = 1 / 8;
/** What was so long ago says nothing of how the pserver is. */
const OLD_MS = 10_000;

const TIMED: ReadonlySet<RequestHeader['type']> = new Set(['pull', 'push', 'pushLane']);

export const isAnsweredAtOnce = (type: RequestHeader['type'], header: { readonly hold?: unknown }): boolean =>
  TIMED.has(type) && header.hold === undefined;

export class AnswerTimes {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'idleMs'>;
  readonly #pservers = new Map<number, Times>();
  #last = 0;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'idleMs'>) {
    this.#clock = clock;
  }

  /** The number of the request. */
  asked(index: number): number {
    let times = this.#pservers.get(index);
    if (times === undefined) {
      times = { meanMs: undefined, answeredMs: 0, open: new Map() };
      this.#pservers.set(index, times);
    }
    this.#last += 1;
    times.open.set(this.#last, this.#idleMs());
    return this.#last;
  }

  answered(index: number, request: number): void {
    const times = this.#pservers.get(index)!;
    const tookMs = this.#idleMs() - times.open.get(request)!;
    times.meanMs = times.meanMs === undefined ? tookMs : times.meanMs + NEWEST_SHARE * (tookMs - times.meanMs);
    times.answeredMs = this.#clock.monotonicMs();
    times.open.delete(request);
  }

  failed(index: number, request: number): void {
    this.#pservers.get(index)!.open.delete(request);
  }

  /** Answer times of those pservers that were asked lately, by index. */
  of(indexes: readonly number[]): PserverAnswers[] {
    return indexes.flatMap((index) => {
      const times = this.#pservers.get(index);
      if (times === undefined) return [];
      const [oldestMs] = times.open.values();
      if (oldestMs === undefined && this.#clock.monotonicMs() - times.answeredMs > OLD_MS) return [];
      const waitedMs = oldestMs === undefined ? 0 : Math.round(this.#idleMs() - oldestMs);
      // Without an answer so far, all that is known is how long the first is waited for.
      return [{ index, meanMs: times.meanMs === undefined ? waitedMs : Math.round(times.meanMs), waitedMs }];
    });
  }

  /** Where idle time is not known, all of it. */
  #idleMs(): number {
    return this.#clock.idleMs?.() ?? this.#clock.monotonicMs();
  }
}
