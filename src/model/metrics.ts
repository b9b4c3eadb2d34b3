/** Metrics of records: sums that merge field by field, and what is made of them at the end. */
import { assert } from '../base/assert.ts';
import { exp, log, log1p } from '../tensor/math.ts';
import type { MetricSums, Model } from './model.ts';

/** −ln(1e-15): what the loss of one record is at most, as probabilities are clipped to [1e-15, 1 − 1e-15]. */
export const MAX_LOG_LOSS = -log(1e-15);
const MIN_LOG_LOSS = 1e-15;

export const noMetrics: MetricSums = { records: 0, loss: 0, correct: 0, squaredError: 0 };

/** Floating-point sums depend on the order: merge in task order. */
export const mergeMetrics = (a: MetricSums, b: MetricSums): MetricSums => ({
  records: a.records + b.records,
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

export interface FinishedMetrics {
  readonly records: number;
  /** Mean log loss (binary, multiclass). */
  readonly logloss?: number;
  /** Binary; absent when all labels are the same. */
  readonly auc?: number;
  /** Binary: at a threshold of 0.5; multiclass: share of records whose likeliest class is the label. */
  readonly accuracy?: number;
  /** Root of the mean squared difference of score and label (binary, regression). */
  readonly rmse?: number;
}

/**
 * `scores` and `labels` of all records (binary); they may be empty for other tasks. Only `records` when there is
 * none.
 */
export function finishMetrics(
  task: Model['task'],
  sums: MetricSums,
  scores: Float32Array,
  labels: Float32Array,
): FinishedMetrics {
  const { records } = sums;
  if (records === 0) return { records };
  const accuracy = sums.correct / records;
  const logloss = sums.loss / records;
  const rmse = Math.sqrt(sums.squaredError / records);
  switch (task) {
    case 'binary': {
      const auc = areaUnderCurve(scores, labels);
      return { records, logloss, ...(auc === undefined ? {} : { auc }), accuracy, rmse };
    }
    case 'multiclass':
      return { records, logloss, accuracy };
    case 'regression':
      return { records, rmse };
  }
}

/**
 * Area under the ROC curve as the Mann-Whitney statistic: the share of (positive, negative) pairs in which the positive
 * scores higher; ties count ½. Exact, O(n log n). A label above 0.5 is positive. Undefined without both kinds.
 */
export function areaUnderCurve(scores: Float32Array, labels: Float32Array): number | undefined {
  assert(scores.length === labels.length, 'a score a label');
  const positives = labels.reduce((sum, label) => sum + (label > 0.5 ? 1 : 0), 0);
  const negatives = labels.length - positives;
  if (positives === 0 || negatives === 0) return undefined;
  const keys = sortedKeys(scores, labels);
  let wins = 0;
  let negativesBelow = 0;
  for (let from = 0; from < keys.length; ) {
    let tiedPositives = 0;
    let to = from;
    const score = Math.floor(keys[from]! / 2);
    for (; to < keys.length && Math.floor(keys[to]! / 2) === score; to++) tiedPositives += keys[to]! % 2;
    const tiedNegatives = to - from - tiedPositives;
    wins += tiedPositives * (negativesBelow + tiedNegatives / 2);
    negativesBelow += tiedNegatives;
    from = to;
  }
  return wins / (positives * negatives);
}

/** Sorted numbers whose order is that of the scores: 2 × (the float's bits made monotonic) + 1 for a positive. */
function sortedKeys(scores: Float32Array, labels: Float32Array): Float64Array {
  // Adding 0 turns −0 into 0: they tie.
  const bits = new Uint32Array(scores.map((score) => score + 0).buffer);
  const keys = new Float64Array(scores.length);
  for (let at = 0; at < keys.length; at++) {
    assert(!Number.isNaN(scores[at]!), 'scores are numbers');
    const pattern = bits[at]!;
    const ordered = pattern >= 0x80000000 ? 0xffffffff - pattern : pattern + 0x80000000;
    keys[at] = 2 * ordered + (labels[at]! > 0.5 ? 1 : 0);
  }
  return keys.sort();
}
