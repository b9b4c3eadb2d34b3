/** Metrics of records: sums that merge field by field, and what is made of them at the end. */
import { allAtOnce } from '../base/steps.ts';
import { exp, log, log1p } from '../tensor/math.ts';
import { calibrationOf, calibrationSums } from './calibration.ts';
import type { MetricSums, Model, ScoredRecords } from './model.ts';
import { type OrderMetrics, orderMetrics } from './order-metrics.ts';
import { DEFAULT_TOP_K } from './ranking.ts';

/** −ln(1e-15): what the loss of one record is at most, as probabilities are clipped to [1e-15, 1 − 1e-15]. */
export const MAX_LOG_LOSS = -log(1e-15);
const MIN_LOG_LOSS = 1e-15;

export const noMetrics: MetricSums = { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 };

/** Floating-point sums depend on the order: merge in task order. */
export const mergeMetrics = (a: MetricSums, b: MetricSums): MetricSums => ({
  records: a.records + b.records,
  weight: a.weight + b.weight,
  loss: a.loss + b.loss,
  correct: a.correct + b.correct,
  squaredError: a.squaredError + b.squaredError,
});

/** −ln of a probability, clipped. */
export const clippedLogLoss = (loss: number): number => Math.min(Math.max(loss, MIN_LOG_LOSS), MAX_LOG_LOSS);

/**
 * Log loss of a binary label under logit z: −(y ln p + (1 − y) ln(1 − p)) with p = 1 / (1 + e^−z), clipped. Computed as
 * max(z, 0) − y z + ln(1 + e^−|z|), which loses no digits when p is near 0 or 1.
 */
export const binaryLogLoss = (logit: number, label: number): number =>
  clippedLogLoss(Math.max(logit, 0) - label * logit + log1p(exp(-Math.abs(logit))));

/** The metrics that can rank models. */
export const EVALUATION_METRICS = ['logloss', 'auc', 'groupedAuc', 'hitRate', 'ndcg', 'accuracy', 'rmse'] as const;
export type EvaluationMetric = (typeof EVALUATION_METRICS)[number];

/** Metrics of binary scored records that are computed from all scores at once, not from sums over tasks. */
export interface ScoreMetrics extends OrderMetrics {
  /** By how much `auc` may be off; absent when it is exact. */
  readonly aucBound?: number;
  /** Σ weight × score / Σ weight of positives; absent if no positive weighs something. */
  readonly calibration?: number;
}

export interface FinishedMetrics extends ScoreMetrics {
  readonly records: number;
  /** Mean log loss (binary, multiclass). */
  readonly logloss?: number;
  /** Binary: at a threshold of 0.5; multiclass: share of records whose likeliest class is the label. */
  readonly accuracy?: number;
  /** Root of the mean squared difference of score and label (binary, regression). */
  readonly rmse?: number;
}

/** The records of a task, scored, and the sums over them. */
export interface ScoredTask extends ScoredRecords {
  readonly metrics: MetricSums;
}

/** The metrics of a set that is small enough to be sorted at once. */
export const scoreMetrics = (scored: ScoredRecords): ScoreMetrics => ({
  ...allAtOnce(orderMetrics(scored, DEFAULT_TOP_K)),
  ...calibrationOf([calibrationSums(scored)]),
});

/**
 * Each record counts as much as its weight. For binary models, `ofScores` has the metrics of all scores. Only `records`
 * if no record counts.
 */
export function finishMetrics(task: Model['task'], sums: MetricSums, ofScores: ScoreMetrics): FinishedMetrics {
  const { records, weight } = sums;
  if (weight === 0) return { records };
  const accuracy = sums.correct / weight;
  const logloss = sums.loss / weight;
  const rmse = Math.sqrt(sums.squaredError / weight);
  switch (task) {
    case 'binary': {
      const { calibration, ...ofOrder } = ofScores;
      return { records, logloss, ...ofOrder, accuracy, rmse, ...(calibration === undefined ? {} : { calibration }) };
    }
    case 'multiclass':
      return { records, logloss, accuracy };
    case 'regression':
      return { records, rmse };
  }
}
