/** Async mode: points of the curves from the ends of tasks, saved in the transaction that saves the ends. */
import type { Clock } from '../../../base/seams.ts';
import type { MasterChange } from '../../../cluster/job/queue-store.ts';
import {
  type EvaluationPoint,
  type History,
  historyText,
  withEvaluation,
  withPass,
  withTables,
  withTrained,
} from '../../../core/history.ts';
import { addMetrics } from '../../../core/pass-metrics.ts';
import type { TablesPoint } from '../../../core/table-history.ts';
import type { QueueEffect, QueueEvent, TaskQueue } from '../../../core/tasks/events.ts';
import { totalSums } from '../../../core/tasks/state.ts';
import type { MetricSums } from '../../../model/model.ts';

const timeMsOf = (clock: Clock): number => Math.round(1000 * clock.wallSeconds());

const atLeast = (sums: MetricSums, least: MetricSums): MetricSums => ({
  records: Math.max(sums.records, least.records),
  weight: Math.max(sums.weight, least.weight),
  loss: Math.max(sums.loss, least.loss),
  correct: Math.max(sums.correct, least.correct),
  squaredError: Math.max(sums.squaredError, least.squaredError),
});

export class TaskHistory {
  readonly #clock: Clock;
  #history: History;
  /** Sums of all tasks that are done. */
  #sums: MetricSums;

  /** `saved` by the masters before, with the queue as they left it. A pass may have ended without its point. */
  constructor(clock: Clock, saved: History, queue: TaskQueue) {
    const { ended, current } = queue.totals();
    this.#clock = clock;
    const { metrics } = totalSums([...ended.map(({ sums }) => sums), current]);
    // Added up in another order, sums may be smaller by their last digits than those of a point that is there.
    const newest = saved.train.at(-1);
    this.#sums = newest === undefined ? metrics : atLeast(metrics, newest);
    this.#history = ended.reduce((all, { sums }, pass) => {
      return withPass(all, { ...sums.metrics, pass, timeMs: timeMsOf(clock) });
    }, saved);
  }

  current(): History {
    return this.#history;
  }

  /** What is to be saved with an evaluation. */
  evaluated(point: EvaluationPoint): MasterChange[] {
    this.#history = withEvaluation(this.#history, point);
    return [{ kind: 'history', text: historyText(this.#history) }];
  }

  /** What is to be saved with the figures of tables at the end of a pass. */
  sampled(point: TablesPoint): MasterChange[] {
    this.#history = withTables(this.#history, point);
    return [{ kind: 'history', text: historyText(this.#history) }];
  }

  /** What of the history is to be saved with what this event has changed. */
  step(event: QueueEvent, effects: readonly QueueEffect[]): MasterChange[] {
    const before = this.#history;
    const timeMs = timeMsOf(this.#clock);
    if (event.type === 'finish' && effects.some(({ type }) => type === 'accept')) {
      this.#sums = addMetrics(this.#sums, event.sums.metrics);
      this.#history = withTrained(this.#history, { ...this.#sums, pass: event.pass, timeMs });
    }
    for (const effect of effects) {
      if (effect.type !== 'passEnded') continue;
      const { metrics } = effect.totals.sums;
      this.#history = withPass(this.#history, { ...metrics, pass: effect.pass, timeMs });
    }
    return this.#history === before ? [] : [{ kind: 'history', text: historyText(this.#history) }];
  }
}
