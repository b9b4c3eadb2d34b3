// Loss and metrics of models with one output a record, z: linear models and factorization machines. All in f64, summed
// in the order of the records. test/model/reference.ts has it in plain form.

import { TINY, zeroBelow } from './tiny';

/** −ln(1e-15): what the loss of one record is at most, as probabilities are clipped to [1e-15, 1 − 1e-15]. */
export const MAX_LOG_LOSS: f64 = 34.538776394910684;
export const MIN_LOG_LOSS: f64 = 1e-15;

let loss: f64 = 0;
let totalWeight: f64 = 0;
let correct: f64 = 0;
let squaredError: f64 = 0;
let slopes: f64 = 0;

export function startLoss(): void {
  loss = 0;
  totalWeight = 0;
  correct = 0;
  squaredError = 0;
  slopes = 0;
}

/** The weight of a record: 1 where `weights` is 0. */
@inline export function weightOf(weights: usize, record: u32): f64 {
  return weights == 0 ? 1.0 : <f64>load<f32>(weights + (record << 2));
}

/** −ln of a probability, clipped. */
@inline export function clipped(logLoss: f64): f64 {
  return min<f64>(max<f64>(logLoss, MIN_LOG_LOSS), MAX_LOG_LOSS);
}

/**
 * Adds a record with output z, multiplied by its weight; returns its score: the probability p = 1 / (1 + e^−z) (binary)
 * or z (regression). The log loss −(y ln p + (1 − y) ln(1 − p)) is max(z, 0) − y z + ln(1 + e^−|z|), which loses no
 * digits when p is near 0 or 1. dloss/dz is score − label for both tasks.
 */
export function addOutput(z: f64, label: f64, weight: f64, isBinary: bool): f64 {
  totalWeight += weight;
  if (!isBinary) {
    const difference = z - label;
    loss += weight * (0.5 * difference * difference);
    squaredError += weight * (difference * difference);
    slopes += weight * difference;
    return z;
  }
  const power = NativeMath.exp(-abs<f64>(z));
  const score = (z >= 0 ? 1.0 : power) / (1.0 + power);
  loss += weight * clipped(max<f64>(z, 0) - label * z + NativeMath.log1p(power));
  // An output of exactly 0, a probability of 0.5, predicts 0.
  if (z > 0 == label > 0.5) correct += weight;
  const difference = score - label;
  squaredError += weight * (difference * difference);
  slopes += weight * difference;
  return score;
}

/** What a record adds to the gradient of the mean loss: f32(weight × dloss/dz / records), or 0 if that is tiny. */
@inline export function slopeOf(score: f64, label: f64, weight: f64, records: f64): f32 {
  return zeroBelow(<f32>((weight * (score - label)) / records), TINY);
}

/** Writes Σ weight, loss, correct, squared error and Σ dloss/dz, each times the weight: five f64. */
export function storeLoss(sums: usize): void {
  store<f64>(sums, totalWeight);
  store<f64>(sums, loss, 8);
  store<f64>(sums, correct, 16);
  store<f64>(sums, squaredError, 24);
  store<f64>(sums, slopes, 32);
}

/**
 * The loss of one output a record. `weights` is 0 when all are 1, `slopes` and `scores` when none are wanted: slopes
 * are those of `slopeOf`.
 */
export function lossOfOutputs(
  records: u32,
  outputs: usize,
  labels: usize,
  weights: usize,
  isBinary: bool,
  slopes: usize,
  scores: usize,
  sums: usize,
): void {
  startLoss();
  for (let at: u32 = 0; at < records << 2; at += 4) {
    const label = <f64>load<f32>(labels + at);
    const weight = weightOf(weights, at >> 2);
    const score = addOutput(<f64>load<f32>(outputs + at), label, weight, isBinary);
    if (slopes != 0) store<f32>(slopes + at, slopeOf(score, label, weight, <f64>records));
    if (scores != 0) store<f32>(scores + at, <f32>score);
  }
  storeLoss(sums);
}
