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

/** A sum of metrics in a report: far above any loss, and far enough below the largest number to be added up. */
const MOST_METRIC = 1e250;

export interface CountedTask {
  readonly records: number;
  /** Of one task. */
  readonly maxBadRecords: number;
}

export interface EndCounts {
  readonly good: number;
  readonly bad: number;
  readonly metrics: MetricSums;
}

/** Why a task of so many records cannot have ended so; undefined when it can. */
export function whyWrongEnd({ records, maxBadRecords }: CountedTask, end: EndCounts): string | undefined {
  const { good, bad } = end;
  if (good + bad !== records) return `${good} good and ${bad} bad records of ${records}`;
  if (bad > maxBadRecords) return `${bad} bad records, and data.maxBadRecords is ${maxBadRecords}`;
  return whyWrongMetrics(end.metrics) ?? whyTooOften(records, end.metrics.records);
}

/** Each record is computed once by an attempt, or again after a refused push: so often, no attempt computes it. */
export function whyTooOften(records: number, computed: number): string | undefined {
  if (computed <= records * LIMITS.timesComputed) return undefined;
  return `${computed} records computed, of a task of ${records}`;
}

export function whyWrongMetrics({ weight, correct, loss, squaredError }: MetricSums): string | undefined {
  if (!(correct >= 0 && correct <= weight)) return `a weight of ${correct} is correct, of ${weight} in all`;
  const isBounded = (sum: number): boolean => Math.abs(sum) <= MOST_METRIC;
  return [weight, loss, squaredError].every(isBounded)
    ? undefined
    : `a weight of ${weight}, a loss of ${loss}, squared errors of ${squaredError}`;
}

/** What counts of a report by an attempt at a task of so many records: each record once. */
export const countedOnce = (records: number, { read, duplicate }: Observed): Observed => ({
  read: Math.min(read, records),
  duplicate: Math.min(duplicate, records),
});
