/** What a prediction was, for people and for scripts. */
import { COMPARE_KEYS, namesOf } from '../../data/absent-columns.ts';
import type { Tally } from '../../roles/evaluator/score-groups.ts';
import type { Scored } from '../evaluate/score-model.ts';

const SHOWN_COLUMNS = 10;

export interface Summary {
  readonly job: string;
  readonly model: Scored<object>['from'];
  readonly records: number;
  /** Number of records without a score. */
  readonly bad: number;
  /** The first of these, with their places. */
  readonly firstBad: readonly string[];
  /**
   * Features that the model looked up, and those whose ids did not occur in training; only for models from checkpoints.
   */
  readonly features?: number;
  readonly unknownFeatures?: number;
  /** The unknown features by their column, the most frequent first; of formats with columns. */
  readonly unknownByColumn?: readonly { readonly column: string; readonly features: number }[];
  /** Columns of the job that no record has a value of. */
  readonly absentColumns: readonly string[];
  readonly seconds: number;
  readonly recordsPerSecond: number;
}

export function summaryOf(
  job: string,
  from: Summary['model'],
  tally: Tally,
  absentColumns: readonly string[],
  elapsedMs: number,
): Summary {
  const { records, bad, firstBad, features, unknown, unknownIn } = tally;
  const byColumn = [...unknownIn].map(([column, count]) => ({ column, features: count }));
  return {
    ...{ job, model: from, records, bad, firstBad },
    ...(features === 0 ? {} : { features, unknownFeatures: unknown }),
    ...(byColumn.length === 0 ? {} : { unknownByColumn: byColumn.sort((a, b) => b.features - a.features) }),
    absentColumns,
    seconds: Math.round(elapsedMs) / 1000,
    recordsPerSecond: Math.round((records * 1000) / Math.max(elapsedMs, 1)),
  };
}

export function summaryText(summary: Summary): string {
  const { job, model, records, bad, firstBad, features = 0, unknownFeatures = 0, seconds, recordsPerSecond } = summary;
  const { unknownByColumn = [], absentColumns } = summary;
  const count = (number: number): string => number.toLocaleString('en');
  const lines = [
    `${count(records)} records scored by the ${model} of job ${job} in ${seconds.toFixed(1)} s (${count(recordsPerSecond)} a second)`,
  ];
  if (records === 0) lines.push('the input has no records: check --data, or what writes to the pipe');
  if (bad > 0) lines.push(`${count(bad)} without a score:`, ...firstBad.map((place) => `  ${place}`));
  if (bad > firstBad.length) lines.push(`  and ${count(bad - firstBad.length)} more`);
  if (unknownFeatures > 0) {
    lines.push(
      `${count(unknownFeatures)} of ${count(features)} features are unknown to the model: they count as untrained`,
      ...unknownByColumn.slice(0, SHOWN_COLUMNS).map((one) => `  ${one.column}: ${count(one.features)}`),
    );
    const more = unknownByColumn.length - SHOWN_COLUMNS;
    if (more > 0) lines.push(`  and ${count(more)} more columns`);
  }
  if (absentColumns.length > 0) {
    lines.push(`no record has a value for ${namesOf(absentColumns)}: all count as missing; ${COMPARE_KEYS}`);
  }
  return lines.join('\n');
}
