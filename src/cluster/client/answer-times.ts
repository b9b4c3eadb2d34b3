/**
 * How long each pserver takes for requests that it answers at once: so that a process that waits for a slow one can say
 * so. Requests that wait for other trainers, at the staleness bound or for a round, are not among them.
 */
import type { Clock } from '../../base/seams.ts';
import type { RequestHeader } from '../../protocol/messages/all-messages.ts';

export interface PserverAnswers {
  readonly index: number;
  /** Of the latest answers; the newest counts most. */
  readonly meanMs: number;
  /** For how long the oldest request that has no answer waits; 0 without one. */
  readonly waitedMs: number;
}

interface Times {
  meanMs: number | undefined;
  /** When each request that has no answer was sent, by its number: the oldest comes first. */
  readonly open: Map<number, number>;
}

/** Share of the newest answer in the mean. */
const NEWEST_SHARE = 1 / 8;

const TIMED: ReadonlySet<RequestHeader['type']> = new Set(['pull', 'push', 'pushLane']);

export const isAnsweredAtOnce = (type: RequestHeader['type'], header: { readonly hold?: unknown }): boolean =>
  TIMED.has(type) && header.hold === undefined;

export class AnswerTimes {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #pservers = new Map<number, Times>();
  #last = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** The number of the request. */
  asked(index: number): number {
    let times = this.#pservers.get(index);
    if (times === undefined) {
      times = { meanMs: undefined, open: new Map() };
      this.#pservers.set(index, times);
    }
    this.#last += 1;
    times.open.set(this.#last, this.#clock.monotonicMs());
    return this.#last;
  }

  answered(index: number, request: number): void {
    const times = this.#pservers.get(index)!;
    const tookMs = this.#clock.monotonicMs() - times.open.get(request)!;
    times.meanMs = times.meanMs === undefined ? tookMs : times.meanMs + NEWEST_SHARE * (tookMs - times.meanMs);
    times.open.delete(request);
  }

  failed(index: number, request: number): void {
    this.#pservers.get(index)!.open.delete(request);
  }

  /** Of those pservers, by index. */
  of(indexes: readonly number[]): PserverAnswers[] {
    const nowMs = this.#clock.monotonicMs();
    return indexes.flatMap((index) => {
      const times = this.#pservers.get(index);
      if (times === undefined) return [];
      const [oldestMs = nowMs] = times.open.values();
      return [{ index, meanMs: Math.round(times.meanMs ?? 0), waitedMs: Math.round(nowMs - oldestMs) }];
    });
  }
}
