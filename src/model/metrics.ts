/** Metrics of records: sums that merge field by field, and what is made of them at the end. */
import { assert } from '../base/assert.ts';
import { exp, log, log1p } from '../tensor/math.ts';
import { type MetricSums, type Model, NO_GROUP } from './model.ts';

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

export interface FinishedMetrics {
  readonly records: number;
  /** Mean log loss (binary, multiclass). */
  readonly logloss?: number;
  /** Binary; absent when all labels are the same. */
  readonly auc?: number;
  /** Binary, of records with groups: see `groupedAuc`. */
  readonly groupedAuc?: number;
  /** Binary: at a threshold of 0.5; multiclass: share of records whose likeliest class is the label. */
  readonly accuracy?: number;
  /** Root of the mean squared difference of score and label (binary, regression). */
  readonly rmse?: number;
}

/** Records as a model scored them, for metrics that are no sums. */
export interface ScoredRecords {
  readonly scores: Float32Array;
  readonly labels: Float32Array;
  /** Undefined when each is 1. */
  readonly weights: Float32Array | undefined;
  /** u64 little-endian; undefined when no record has one. */
  readonly groups: Uint8Array | undefined;
}

const NONE = new Float32Array(0);
export const noScores: ScoredRecords = { scores: NONE, labels: NONE, weights: undefined, groups: undefined };

/**
 * Each record counts as much as its weight. `scored`: all records (binary); it may be empty for other tasks. Only
 * `records` when there is none, or none that counts.
 */
export function finishMetrics(task: Model['task'], sums: MetricSums, scored: ScoredRecords): FinishedMetrics {
  const { records, weight } = sums;
  if (weight === 0) return { records };
  const accuracy = sums.correct / weight;
  const logloss = sums.loss / weight;
  const rmse = Math.sqrt(sums.squaredError / weight);
  switch (task) {
    case 'binary': {
      const auc = areaUnderCurve(scored);
      const grouped = groupedAuc(scored);
      return {
        records,
        logloss,
        ...(auc === undefined ? {} : { auc }),
        ...(grouped === undefined ? {} : { groupedAuc: grouped }),
        accuracy,
        rmse,
      };
    }
    case 'multiclass':
      return { records, logloss, accuracy };
    case 'regression':
      return { records, rmse };
  }
}

/**
 * Area under the ROC curve as the Mann-Whitney statistic: the share of (positive, negative) pairs in which the positive
 * scores higher; ties count ½, and a pair as much as the product of its weights. Exact, O(n log n). A label above 0.5
 * is positive. Undefined without both kinds.
 */
export function areaUnderCurve({ scores, labels, weights }: Omit<ScoredRecords, 'groups'>): number | undefined {
  assert(scores.length === labels.length, 'a score a label');
  return weights === undefined ? plainArea(scores, labels) : weightedArea(scores, labels, weights);
}

function plainArea(scores: Float32Array, labels: Float32Array): number | undefined {
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

function weightedArea(scores: Float32Array, labels: Float32Array, weights: Float32Array): number | undefined {
  assert(weights.length === scores.length, 'a weight a score');
  const order = Uint32Array.from(scores, (_, at) => at).sort((a, b) => scores[a]! - scores[b]! || a - b);
  let wins = 0;
  let positives = 0;
  let negatives = 0;
  for (let from = 0; from < order.length; ) {
    const score = scores[order[from]!]!;
    let tiedPositives = 0;
    let tiedNegatives = 0;
    for (; from < order.length && scores[order[from]!] === score; from++) {
      const at = order[from]!;
      if (labels[at]! > 0.5) tiedPositives += weights[at]!;
      else tiedNegatives += weights[at]!;
    }
    wins += tiedPositives * (negatives + tiedNegatives / 2);
    positives += tiedPositives;
    negatives += tiedNegatives;
  }
  return positives === 0 || negatives === 0 ? undefined : wins / (positives * negatives);
}

/**
 * The mean of the areas of all groups that have both kinds, each as much as its records weigh (Zhou et al., Deep
 * Interest Network, KDD 2018, §5.3). Undefined when no group has both. Records without a group do not count.
 */
export function groupedAuc({ scores, labels, weights, groups }: ScoredRecords): number | undefined {
  if (groups === undefined) return undefined;
  const members = membersOf(groups);
  let sum = 0;
  let total = 0;
  for (const group of members) {
    const of = (all: Float32Array): Float32Array => Float32Array.from(group, (at) => all[at]!);
    const own = weights && of(weights);
    const area = areaUnderCurve({ scores: of(scores), labels: of(labels), weights: own });
    if (area === undefined) continue;
    const weight = own === undefined ? group.length : own.reduce((all, one) => all + one, 0);
    sum += weight * area;
    total += weight;
  }
  return total === 0 ? undefined : sum / total;
}

/** The records of each group, groups in order of first appearance. */
function membersOf(groups: Uint8Array): Uint32Array[] {
  const ids = new BigUint64Array(groups.buffer, groups.byteOffset, groups.length / 8);
  const numbers = new Map<bigint, number>();
  const counts: number[] = [];
  const numberOf = new Int32Array(ids.length).fill(-1);
  ids.forEach((id, at) => {
    if (id === NO_GROUP) return;
    let number = numbers.get(id);
    if (number === undefined) {
      number = counts.push(0) - 1;
      numbers.set(id, number);
    }
    counts[number]! += 1;
    numberOf[at] = number;
  });
  const members = counts.map((count) => new Uint32Array(count));
  const filled = new Uint32Array(counts.length);
  numberOf.forEach((number, at) => {
    if (number >= 0) members[number]![filled[number]!++] = at;
  });
  return members;
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
