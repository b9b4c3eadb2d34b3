/**
 * The counts of a trainer's report about a task, against the records of the task. What a trainer says that it has
 * computed, and the sums of its metrics, cannot be checked; they are bounded, so that no sum of them overflows.
 */
import { LIMITS } from '../base/limits.ts';
import type { MetricSums } from '../model/model.ts';

/** What an attempt says that it observed; nothing else in the cluster sees it. */
export interface Observed {
  readonly read: number;
  readonly duplicate: number;
}

/** In a report: far above what records weigh, and what one of weight 1 adds to a sum. Their product can be added up. */
const MOST_WEIGHT = 1e100;
const MOST_METRIC = 1e150;

export interface CountedTask {
  readonly records: number;
  /** Limit for one task. */
  readonly maxBadRecords: number;
}

export interface EndCounts {
  readonly good: number;
  readonly bad: number;
  readonly metrics: MetricSums;
}

/** Why a task of this many records cannot have ended with these counts; undefined if it can. */
export function whyWrongEnd({ records, maxBadRecords }: CountedTask, end: EndCounts): string | undefined {
  const { good, bad } = end;
  if (good + bad !== records) return `${good} good and ${bad} bad records of ${records}`;
  if (bad > maxBadRecords) return `expected at most ${maxBadRecords} bad records (data.maxBadRecords), got ${bad}`;
  return whyWrongMetrics(end.metrics) ?? whyTooOften(records, end.metrics.records);
}

/** Each record is computed once by an attempt, or again after a refused push: so often, no attempt computes it. */
export function whyTooOften(records: number, computed: number): string | undefined {
  if (computed <= records * LIMITS.timesComputed) return undefined;
  return `${computed} records computed, of a task of ${records}`;
}

export function whyWrongMetrics({ weight, correct, loss, squaredError }: MetricSums): string | undefined {
  if (!(weight <= MOST_WEIGHT)) return `a weight of ${weight}`;
  if (!(correct >= 0 && correct <= weight)) return `a weight of ${correct} is correct, of ${weight} in all`;
  const most = MOST_METRIC * weight;
  return Math.abs(loss) <= most && squaredError >= 0 && squaredError <= most
    ? undefined
    : `a loss of ${loss} and squared errors of ${squaredError}, of records of weight ${weight}`;
}

/** The part of a report that counts, by an attempt at a task of `records` records: each record once. */
export const countedOnce = (records: number, { read, duplicate }: Observed): Observed => ({
  read: Math.min(read, records),
  duplicate: Math.min(duplicate, records),
});
