/**
 * Calibration: how many positives the scores predict for each one that there is (He et al., Practical Lessons from
 * Predicting Clicks on Ads at Facebook, ADKDD 2014, §2). 1 is perfect; above it the model promises too much. A label
 * above 0.5 is positive, and a record counts as its weight says.
 */
import type { ScoredRecords } from './model.ts';

export interface CalibrationSums {
  /** Σ weight × score. */
  readonly predicted: number;
  /** Σ weight of positives. */
  readonly positives: number;
}

export function calibrationSums({ scores, labels, weights }: ScoredRecords): CalibrationSums {
  let predicted = 0;
  let positives = 0;
  for (let at = 0; at < scores.length; at++) {
    const weight = weights === undefined ? 1 : weights[at]!;
    predicted += weight * scores[at]!;
    if (labels[at]! > 0.5) positives += weight;
  }
  return { predicted, positives };
}

/** The calibration of several tasks, in task order. Absent if no positive has a weight above 0. */
export function calibrationOf(parts: readonly CalibrationSums[]): { readonly calibration?: number } {
  let predicted = 0;
  let positives = 0;
  for (const part of parts) {
    predicted += part.predicted;
    positives += part.positives;
  }
  return positives === 0 ? {} : { calibration: predicted / positives };
}
