// Field-aware factorization machines on sparse features (Juan et al. 2016), a whole mini-batch at a time. A row of `v`
// has a vector of `factors` floats for each field, one field after the other.
//   z = bias + Σ w x + Σ_{i<j} ⟨v_i[field of j], v_j[field of i]⟩ x_i x_j
// The linear part is that of linear-model.ts. Pairs are in f32, in the order of i, then of j, four factors at a time:
// factor f of each pair goes to sum f mod 4, and Σ is (sum 0 + sum 1) + (sum 2 + sum 3). Factors behind the last whole
// four have sums of their own over all pairs, which are added to these at the end.

import { addOutput, slopeOf, startLoss, storeLoss, weightOf } from './output-loss';
import { addSlopes, weigh } from './sparse-batch';

/**
 * `fieldOf` has one u16 a feature: one that is not below `fields` is in no pair. `xs` has room for a float a feature:
 * the values, with `isNormalized` those of each record divided by their L2 norm. The rest is as in `stepLinear`.
 */
export function stepFields(
  records: u32,
  offsets: usize,
  rows: usize,
  values: usize,
  fieldOf: usize,
  labels: usize,
  weights: usize,
  distinct: u32,
  isBinary: bool,
  isNormalized: bool,
  bias: f32,
  w: usize,
  v: usize,
  fields: u32,
  factors: u32,
  xs: usize,
  gradientW: usize,
  gradientV: usize,
  scores: usize,
  sums: usize,
): void {
  startLoss();
  if (gradientW != 0) {
    memory.fill(gradientW, 0, distinct << 2);
    memory.fill(gradientV, 0, (distinct * fields * factors) << 2);
  }
  const count = <f64>records;
  let from: u32 = 0;
  for (let record: u32 = 0; record < records; record++) {
    const to = load<u32>(offsets + (record << 2), 4);
    const label = <f64>load<f32>(labels + (record << 2));
    scale(values, xs, from, to, isNormalized);
    const linear = <f64>bias + weigh(rows, xs, w, from, to);
    const pairs =
      factors == 4
        ? pairsOf(4, rows, xs, fieldOf, v, fields, from, to)
        : pairsOf(factors, rows, xs, fieldOf, v, fields, from, to);
    const weight = weightOf(weights, record);
    const score = addOutput(linear + <f64>pairs, label, weight, isBinary);
    if (scores != 0) store<f32>(scores + (record << 2), <f32>score);
    if (gradientW != 0) {
      const slope = slopeOf(score, label, weight, count);
      addSlopes(rows, xs, gradientW, from, to, slope);
      if (factors == 4) addPairs(4, rows, xs, fieldOf, v, gradientV, fields, from, to, slope);
      else addPairs(factors, rows, xs, fieldOf, v, gradientV, fields, from, to, slope);
    }
    from = to;
  }
  storeLoss(sums);
}

/** x / √Σ x² in f64, rounded once; Σ x² adds up in f64, in the order of the features. */
function scale(values: usize, xs: usize, from: u32, to: u32, isNormalized: bool): void {
  let squares: f64 = 0;
  for (let at = from; at < to; at++) {
    const x = values == 0 ? <f32>1 : load<f32>(values + (at << 2));
    store<f32>(xs + (at << 2), x);
    squares += <f64>x * <f64>x;
  }
  // Values that are all 0 have norm 0 and stay as they are.
  if (!isNormalized || squares == 0) return;
  const norm = sqrt(squares);
  for (let at = from; at < to; at++) {
    store<f32>(xs + (at << 2), <f32>(<f64>load<f32>(xs + (at << 2)) / norm));
  }
}

/** Σ_{i<j} ⟨v_i[field of j], v_j[field of i]⟩ x_i x_j of a record. */
@inline function pairsOf(
  factors: u32,
  rows: usize,
  xs: usize,
  fieldOf: usize,
  v: usize,
  fields: u32,
  from: u32,
  to: u32,
): f32 {
  const vectorBytes = factors << 2;
  const rowBytes = fields * vectorBytes;
  const whole = factors & ~3;
  let lanes = f32x4.splat(0);
  let a: f32 = 0;
  let b: f32 = 0;
  let c: f32 = 0;
  for (let i = from; i < to; i++) {
    const fieldI = <u32>load<u16>(fieldOf + (i << 1));
    if (fieldI >= fields) continue;
    const rowI = v + load<u32>(rows + (i << 2)) * rowBytes;
    const toI = v + fieldI * vectorBytes;
    const x = load<f32>(xs + (i << 2));
    for (let j = i + 1; j < to; j++) {
      const fieldJ = <u32>load<u16>(fieldOf + (j << 1));
      if (fieldJ >= fields) continue;
      const p = x * load<f32>(xs + (j << 2));
      const ps = f32x4.splat(p);
      let left = rowI + fieldJ * vectorBytes;
      let right = toI + load<u32>(rows + (j << 2)) * rowBytes;
      for (let f: u32 = 0; f < whole; f += 4) {
        lanes = f32x4.add(lanes, f32x4.mul(f32x4.mul(v128.load(left), v128.load(right)), ps));
        left += 16;
        right += 16;
      }
      if (whole < factors) a += load<f32>(left) * load<f32>(right) * p;
      if (whole + 1 < factors) b += load<f32>(left, 4) * load<f32>(right, 4) * p;
      if (whole + 2 < factors) c += load<f32>(left, 8) * load<f32>(right, 8) * p;
    }
  }
  a += f32x4.extract_lane(lanes, 0);
  b += f32x4.extract_lane(lanes, 1);
  c += f32x4.extract_lane(lanes, 2);
  return (a + b) + (c + f32x4.extract_lane(lanes, 3));
}

/** For each pair, κ = slope × (x_i x_j): gradient_i[field of j] += κ v_j[field of i], then the same of j. */
@inline function addPairs(
  factors: u32,
  rows: usize,
  xs: usize,
  fieldOf: usize,
  v: usize,
  gradient: usize,
  fields: u32,
  from: u32,
  to: u32,
  slope: f32,
): void {
  const vectorBytes = factors << 2;
  const rowBytes = fields * vectorBytes;
  const whole = factors & ~3;
  for (let i = from; i < to; i++) {
    const fieldI = <u32>load<u16>(fieldOf + (i << 1));
    if (fieldI >= fields) continue;
    const rowI = load<u32>(rows + (i << 2)) * rowBytes;
    const toI = fieldI * vectorBytes;
    const x = load<f32>(xs + (i << 2));
    for (let j = i + 1; j < to; j++) {
      const fieldJ = <u32>load<u16>(fieldOf + (j << 1));
      if (fieldJ >= fields) continue;
      const kappa = slope * (x * load<f32>(xs + (j << 2)));
      const kappas = f32x4.splat(kappa);
      let left = rowI + fieldJ * vectorBytes;
      let right = toI + load<u32>(rows + (j << 2)) * rowBytes;
      for (let f: u32 = 0; f < whole; f += 4) {
        addTo(gradient + left, f32x4.mul(kappas, v128.load(v + right)));
        addTo(gradient + right, f32x4.mul(kappas, v128.load(v + left)));
        left += 16;
        right += 16;
      }
      for (let f = whole; f < factors; f++) {
        const to = gradient + left;
        store<f32>(to, load<f32>(to) + kappa * load<f32>(v + right));
        const other = gradient + right;
        store<f32>(other, load<f32>(other) + kappa * load<f32>(v + left));
        left += 4;
        right += 4;
      }
    }
  }
}

@inline function addTo(gradient: usize, added: v128): void {
  v128.store(gradient, f32x4.add(v128.load(gradient), added));
}
