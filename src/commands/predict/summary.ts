/** What a prediction was, for people and for scripts. */
import type { Tally } from '../../roles/evaluator/score-groups.ts';
import type { Scored } from '../evaluate/score-model.ts';

export interface Summary {
  readonly job: string;
  readonly model: Scored<object>['from'];
  readonly records: number;
  /** Without a score. */
  readonly bad: number;
  /** The first ones, with their places. */
  readonly firstBad: readonly string[];
  /** Features that the model was asked for, and those of them with an id that training has not met: of checkpoints. */
  readonly features?: number;
  readonly unknownFeatures?: number;
  readonly seconds: number;
  readonly recordsPerSecond: number;
}

export function summaryOf(job: string, from: Summary['model'], tally: Tally, elapsedMs: number): Summary {
  const { records, bad, firstBad, features, unknown } = tally;
  return {
    ...{ job, model: from, records, bad, firstBad },
    ...(features === 0 ? {} : { features, unknownFeatures: unknown }),
    seconds: Math.round(elapsedMs) / 1000,
    recordsPerSecond: Math.round((records * 1000) / Math.max(elapsedMs, 1)),
  };
}

export function summaryText(summary: Summary): string {
  const { job, model, records, bad, firstBad, features = 0, unknownFeatures = 0, seconds, recordsPerSecond } = summary;
  const count = (number: number): string => number.toLocaleString('en');
  const lines = [
    `${count(records)} records scored by the ${model} of job ${job} in ${seconds.toFixed(1)} s (${count(recordsPerSecond)} a second)`,
  ];
  if (bad > 0) lines.push(`${count(bad)} without a score:`, ...firstBad.map((place) => `  ${place}`));
  if (bad > firstBad.length) lines.push(`  and ${count(bad - firstBad.length)} more`);
  if (unknownFeatures > 0) {
    lines.push(
      `${count(unknownFeatures)} of ${count(features)} features are unknown to the model: they count as untrained`,
    );
  }
  return lines.join('\n');
}
