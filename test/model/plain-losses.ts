/** Losses and metrics in plain form: in f64, record by record. */
import { MAX_LOG_LOSS } from '../../src/model/metrics.ts';
import type { Batch, MetricSums, Model } from '../../src/model/model.ts';
import { exp, log, log1p } from '../../src/tensor/math.ts';

export interface Outcome {
  readonly dense: Float32Array[];
  readonly sparse: Float32Array[];
  readonly metrics: MetricSums;
  readonly scores: Float32Array;
}

export type Sums = { -readonly [field in keyof MetricSums]: MetricSums[field] };

export const noSums = (records: number): Sums => ({ records, weight: 0, loss: 0, correct: 0, squaredError: 0 });

const clipped = (loss: number): number => Math.min(Math.max(loss, 1e-15), MAX_LOG_LOSS);

/** Adds a record with output z, so many times as its weight says; returns its score. */
export function addOutput(sums: Sums, task: Model['task'], z: number, label: number, weight: number): number {
  sums.weight += weight;
  if (task === 'regression') {
    sums.loss += weight * (0.5 * (z - label) * (z - label));
    sums.squaredError += weight * ((z - label) * (z - label));
    return z;
  }
  const power = exp(-Math.abs(z));
  const score = (z >= 0 ? 1 : power) / (1 + power);
  sums.loss += weight * clipped(Math.max(z, 0) - label * z + log1p(power));
  if (z > 0 === label > 0.5) sums.correct += weight;
  sums.squaredError += weight * ((score - label) * (score - label));
  return score;
}

/** Adds a record of a model of classes. The probability of class c is powers[c] / total. */
export function addClasses(sums: Sums, logits: readonly number[], label: number, weight: number) {
  let best = 0;
  logits.forEach((logit, c) => {
    if (logit > logits[best]!) best = c;
  });
  const highest = logits[best]!;
  const powers = logits.map((logit) => exp(logit - highest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const probability = powers[label]! / total;
  sums.weight += weight;
  sums.loss += weight * clipped(log(total) - (logits[label]! - highest));
  if (best === label) sums.correct += weight;
  sums.squaredError += weight * ((1 - probability) * (1 - probability));
  return { powers, total, probability };
}

interface Scored {
  readonly metrics: MetricSums;
  readonly scores: Float32Array;
  /** dloss/dz / records, record by record. */
  readonly slopes: number[][];
}

type LossOf = (
  model: Pick<Model, 'task'>,
  batch: Batch,
  logits: readonly (readonly number[])[],
  round: (value: number) => number,
) => Scored;

export const outputLoss: LossOf = ({ task }, { records, labels, weights }, logits, round) => {
  const sums = noSums(records);
  const outputs = logits.map(([z], record) => addOutput(sums, task, z!, labels[record]!, weights?.[record] ?? 1));
  const slopes = outputs.map((score, record) => {
    const weight = weights?.[record] ?? 1;
    return [round((weight * (score - labels[record]!)) / records)];
  });
  return { metrics: sums, scores: Float32Array.from(outputs), slopes };
};

export const classLoss: LossOf = (_, { records, labels, weights }, logits, round) => {
  const sums = noSums(records);
  const scores: number[] = [];
  const slopes = logits.map((row, record) => {
    const [label, weight] = [labels[record]!, weights?.[record] ?? 1];
    const { powers, total, probability } = addClasses(sums, row, label, weight);
    scores.push(probability);
    return powers.map((power, c) => round((weight * (power / total - (c === label ? 1 : 0))) / records));
  });
  return { metrics: sums, scores: Float32Array.from(scores), slopes };
};
