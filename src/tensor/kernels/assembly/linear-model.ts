// Linear and logistic regression on sparse features, a whole mini-batch at a time.

import { addOutput, slopeOf, startLoss, storeLoss, weightOf } from './output-loss';
import { addSlopes, weigh } from './sparse-batch';

/**
 * z = bias + Σ w x of each record (`weigh`), its loss (`addOutput`), and the gradient of the mean loss: the slope of a
 * record is that of `slopeOf`, and each feature adds slope × x to the gradient (`addSlopes`), in f32, record by record.
 * `weights` has one f32 a record, and is 0 when all are 1. `gradient` has `distinct` floats, and is 0 when none is
 * wanted; so is `scores`, one f32 a record.
 */
export function stepLinear(
  records: u32,
  offsets: usize,
  rows: usize,
  values: usize,
  labels: usize,
  weights: usize,
  distinct: u32,
  isBinary: bool,
  bias: f32,
  w: usize,
  gradient: usize,
  scores: usize,
  sums: usize,
): void {
  startLoss();
  if (gradient != 0) memory.fill(gradient, 0, distinct << 2);
  const count = <f64>records;
  let from: u32 = 0;
  for (let record: u32 = 0; record < records; record++) {
    const to = load<u32>(offsets + (record << 2), 4);
    const label = <f64>load<f32>(labels + (record << 2));
    const weight = weightOf(weights, record);
    const score = addOutput(<f64>bias + weigh(rows, values, w, from, to), label, weight, isBinary);
    if (scores != 0) store<f32>(scores + (record << 2), <f32>score);
    if (gradient != 0) addSlopes(rows, values, gradient, from, to, slopeOf(score, label, weight, count));
    from = to;
  }
  storeLoss(sums);
}
