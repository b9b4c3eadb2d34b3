// Loss and metrics of models of classes. Probabilities and losses are f64, summed in the order of the classes and of
// the records. test/model/reference.ts has it in plain form.

import { clipped, weightOf } from './output-loss';
import { TINY, zeroBelow } from './tiny';

let totalWeight: f64 = 0;
let loss: f64 = 0;
let correct: f64 = 0;
let squaredError: f64 = 0;

export function startClasses(): void {
  totalWeight = 0;
  loss = 0;
  correct = 0;
  squaredError = 0;
}

/** The first of the largest: the predicted class. */
function largestLogit(logits: usize, classes: u32): u32 {
  let best: u32 = 0;
  let highest = load<f32>(logits);
  for (let c: u32 = 1; c < classes; c++) {
    const logit = load<f32>(logits + (c << 2));
    if (logit > highest) {
      highest = logit;
      best = c;
    }
  }
  return best;
}

/** Writes e^(logit − highest), so that none overflows; returns their sum. */
function writePowers(logits: usize, classes: u32, powers: usize, highest: f64): f64 {
  let total: f64 = 0;
  for (let c: u32 = 0; c < classes; c++) {
    const power = NativeMath.exp(<f64>load<f32>(logits + (c << 2)) - highest);
    store<f64>(powers + (c << 3), power);
    total += power;
  }
  return total;
}

/**
 * Adds a record, multiplied by its weight, and stores its score, the probability of its class, unless `score` is 0.
 * `powers` has room for f64[classes]: the probability of class c is then powers[c] / the number that is returned.
 */
export function addClasses(
  logits: usize,
  classes: u32,
  label: u32,
  weight: f64,
  powers: usize,
  score: usize,
): f64 {
  const own = <f64>load<f32>(logits + (label << 2));
  const best = largestLogit(logits, classes);
  const highest = <f64>load<f32>(logits + (best << 2));
  const total = writePowers(logits, classes, powers, highest);
  const probability = load<f64>(powers + (label << 3)) / total;
  totalWeight += weight;
  loss += weight * clipped(NativeMath.log(total) - (own - highest));
  if (best == label) correct += weight;
  squaredError += weight * ((1.0 - probability) * (1.0 - probability));
  if (score != 0) store<f32>(score, <f32>probability);
  return total;
}

/** dloss/dz of class c, behind `addClasses`. */
@inline export function slopeOf(powers: usize, c: u32, total: f64, label: u32, weight: f64): f64 {
  return weight * (load<f64>(powers + (c << 3)) / total - <f64>(c == label));
}

/** Writes Σ weight, loss, correct and squared error, each times the weight: four f64. */
export function storeClasses(sums: usize): void {
  store<f64>(sums, totalWeight);
  store<f64>(sums, loss, 8);
  store<f64>(sums, correct, 16);
  store<f64>(sums, squaredError, 24);
}

/** The probability of each class, as f32. The probability of a label has the bits of its score. */
export function writeProbabilities(logits: usize, classes: u32, powers: usize, to: usize): void {
  const highest = <f64>load<f32>(logits + (largestLogit(logits, classes) << 2));
  const total = writePowers(logits, classes, powers, highest);
  for (let c: u32 = 0; c < classes; c++) store<f32>(to + (c << 2), <f32>(load<f64>(powers + (c << 3)) / total));
}

/**
 * The loss of logits [records × classes]. `weights` is 0 when all are 1, `slopes` and `scores` when none are wanted:
 * slopes are f32(dloss/dz / records), or 0 if that is tiny. `powers`: f64[classes].
 */
export function lossOfClasses(
  records: u32,
  classes: u32,
  logits: usize,
  labels: usize,
  weights: usize,
  powers: usize,
  slopes: usize,
  scores: usize,
  sums: usize,
): void {
  startClasses();
  for (let record: u32 = 0; record < records; record++) {
    const label = <u32>load<f32>(labels + (record << 2));
    const weight = weightOf(weights, record);
    const score = scores == 0 ? 0 : scores + (record << 2);
    const total = addClasses(logits, classes, label, weight, powers, score);
    if (slopes != 0) {
      for (let c: u32 = 0; c < classes; c++) {
        store<f32>(slopes + (c << 2), zeroBelow(<f32>(slopeOf(powers, c, total, label, weight) / <f64>records), TINY));
      }
      slopes += classes << 2;
    }
    logits += classes << 2;
  }
  storeClasses(sums);
}

/** `probabilities` and logits [records × classes]. */
export function probabilitiesOfClasses(
  records: u32,
  classes: u32,
  logits: usize,
  powers: usize,
  probabilities: usize,
): void {
  for (let record: u32 = 0; record < records; record++) {
    writeProbabilities(logits, classes, powers, probabilities);
    logits += classes << 2;
    probabilities += classes << 2;
  }
}
