/** The points of the curves of a job, as they are shown: each with its metrics. */
import { type History, windowsOf } from '../../core/history.ts';
import type { TableFigures } from '../../core/table-history.ts';
import { type FinishedMetrics, finishMetrics } from '../../model/metrics.ts';
import type { Model } from '../../model/model.ts';

interface LineBase extends Partial<FinishedMetrics> {
  /** Seconds since 1970. */
  readonly time: number;
}

export interface TrainLine extends LineBase {
  readonly kind: 'train';
  /** Number of the pass, counted from 0. */
  readonly pass: number;
  /** Records trained until then; `records` counts those since the previous line. */
  readonly trained: number;
  /** Sync mode. */
  readonly round?: number | undefined;
}

export interface PassLine extends LineBase {
  readonly kind: 'pass';
  readonly pass: number;
}

export interface EvaluationLine extends LineBase {
  readonly kind: 'evaluation';
  readonly name: string;
  /** Passes that had ended. */
  readonly passes: number;
  readonly trained: number;
}

export type HistoryLine = TrainLine | PassLine | EvaluationLine;

/** A table with admission, eviction or a bound, at the end of a pass. */
export interface TableLine extends TableFigures {
  readonly kind: 'table';
  /** Seconds since 1970. */
  readonly time: number;
  /** Passes that had ended. */
  readonly passes: number;
}

/** In the order of passes. */
export const tableLinesOf = ({ tables = [] }: History): TableLine[] =>
  tables.flatMap(({ timeMs, passes, tables: all }) =>
    all.map((table): TableLine => ({ kind: 'table', time: timeMs / 1000, passes, ...table })),
  );

/** In the order of time; of one moment training first. */
export function linesOf({ train, passes, evaluations }: History, task: Model['task']): HistoryLine[] {
  const windows = windowsOf(train);
  const lines: HistoryLine[] = [
    ...train.map(({ timeMs, pass, round, records }, at): TrainLine => {
      const metrics = finishMetrics(task, windows[at]!, {});
      const position = { pass, trained: records, ...(round === undefined ? {} : { round }) };
      return { kind: 'train', time: timeMs / 1000, ...position, ...metrics };
    }),
    ...passes.map(({ timeMs, pass, ...sums }): PassLine => {
      return { kind: 'pass', time: timeMs / 1000, pass, ...finishMetrics(task, sums, {}) };
    }),
    ...evaluations.map(({ timeMs, name, passes: ended, trained, metrics }): EvaluationLine => {
      return { kind: 'evaluation', time: timeMs / 1000, name, passes: ended, trained, ...metrics };
    }),
  ];
  return lines.sort((a, b) => a.time - b.time);
}
