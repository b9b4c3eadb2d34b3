// Factorization machines of degree two on sparse features (Rendle 2010), a whole mini-batch at a time.
//   z = bias + Σ w x + ½ Σ_f (s_f² − q_f)  with  s_f = Σ v_f x,  q_f = Σ (v_f x)²
//   ∂z/∂v_f = x (s_f − v_f x)
// The linear part is that of linear-model.ts. Everything of the factors is f32, four factors at a time: s_f and q_f add
// up the features in their order. s_f² − q_f of factor f goes to sum f mod 4, and Σ_f is
// (sum 0 + sum 1) + (sum 2 + sum 3).

import { addOutput, slopeOf, startLoss, storeLoss, weightOf } from './output-loss';
import { addSlopes, weigh } from './sparse-batch';

/** `totals` has room for `factors` floats; the rest is as in `stepLinear`. */
export function stepFactors(
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
  v: usize,
  factors: u32,
  totals: usize,
  gradientW: usize,
  gradientV: usize,
  scores: usize,
  sums: usize,
): void {
  startLoss();
  if (gradientW != 0) {
    memory.fill(gradientW, 0, distinct << 2);
    memory.fill(gradientV, 0, (distinct * factors) << 2);
  }
  const count = <f64>records;
  let from: u32 = 0;
  for (let record: u32 = 0; record < records; record++) {
    const to = load<u32>(offsets + (record << 2), 4);
    const label = <f64>load<f32>(labels + (record << 2));
    const linear = <f64>bias + weigh(rows, values, w, from, to);
    const pairs =
      values == 0
        ? pairsOf(true, rows, values, v, factors, totals, from, to)
        : pairsOf(false, rows, values, v, factors, totals, from, to);
    const weight = weightOf(weights, record);
    const score = addOutput(linear + 0.5 * <f64>pairs, label, weight, isBinary);
    if (scores != 0) store<f32>(scores + (record << 2), <f32>score);
    if (gradientW != 0) {
      const slope = slopeOf(score, label, weight, count);
      addSlopes(rows, values, gradientW, from, to, slope);
      if (values == 0) addFactors(true, rows, values, v, gradientV, factors, totals, from, to, slope);
      else addFactors(false, rows, values, v, gradientV, factors, totals, from, to, slope);
    }
    from = to;
  }
  storeLoss(sums);
}

/** Σ_f (s_f² − q_f) of a record; writes s_f to `totals`. */
@inline function pairsOf(
  ones: bool,
  rows: usize,
  values: usize,
  v: usize,
  factors: u32,
  totals: usize,
  from: u32,
  to: u32,
): f32 {
  let lanes = f32x4.splat(0);
  let f: u32 = 0;
  for (; f + 16 <= factors; f += 16) {
    lanes = pairsOf16(ones, rows, values, v + (f << 2), factors << 2, totals + (f << 2), from, to, lanes);
  }
  for (; f + 4 <= factors; f += 4) {
    lanes = pairsOf4(ones, rows, values, v + (f << 2), factors << 2, totals + (f << 2), from, to, lanes);
  }
  let a = f32x4.extract_lane(lanes, 0);
  let b = f32x4.extract_lane(lanes, 1);
  let c = f32x4.extract_lane(lanes, 2);
  const d = f32x4.extract_lane(lanes, 3);
  if (f < factors) a += pairOf(ones, rows, values, v + (f << 2), factors << 2, totals + (f << 2), from, to);
  if (f + 1 < factors) b += pairOf(ones, rows, values, v + (f << 2) + 4, factors << 2, totals + (f << 2) + 4, from, to);
  if (f + 2 < factors) c += pairOf(ones, rows, values, v + (f << 2) + 8, factors << 2, totals + (f << 2) + 8, from, to);
  return (a + b) + (c + d);
}

/** Sixteen factors, whose sums stay in registers. `v` is at the first of them, rows are `stride` bytes apart. */
@inline function pairsOf16(
  ones: bool,
  rows: usize,
  values: usize,
  v: usize,
  stride: u32,
  totals: usize,
  from: u32,
  to: u32,
  lanes: v128,
): v128 {
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let q0 = s0;
  let q1 = s0;
  let q2 = s0;
  let q3 = s0;
  for (let at = from; at < to; at++) {
    const row = v + load<u32>(rows + (at << 2)) * stride;
    let p0 = v128.load(row);
    let p1 = v128.load(row, 16);
    let p2 = v128.load(row, 32);
    let p3 = v128.load(row, 48);
    if (!ones) {
      const x = v128.load32_splat(values + (at << 2));
      p0 = f32x4.mul(p0, x);
      p1 = f32x4.mul(p1, x);
      p2 = f32x4.mul(p2, x);
      p3 = f32x4.mul(p3, x);
    }
    s0 = f32x4.add(s0, p0);
    s1 = f32x4.add(s1, p1);
    s2 = f32x4.add(s2, p2);
    s3 = f32x4.add(s3, p3);
    q0 = f32x4.add(q0, f32x4.mul(p0, p0));
    q1 = f32x4.add(q1, f32x4.mul(p1, p1));
    q2 = f32x4.add(q2, f32x4.mul(p2, p2));
    q3 = f32x4.add(q3, f32x4.mul(p3, p3));
  }
  v128.store(totals, s0);
  v128.store(totals, s1, 16);
  v128.store(totals, s2, 32);
  v128.store(totals, s3, 48);
  lanes = f32x4.add(lanes, f32x4.sub(f32x4.mul(s0, s0), q0));
  lanes = f32x4.add(lanes, f32x4.sub(f32x4.mul(s1, s1), q1));
  lanes = f32x4.add(lanes, f32x4.sub(f32x4.mul(s2, s2), q2));
  return f32x4.add(lanes, f32x4.sub(f32x4.mul(s3, s3), q3));
}

@inline function pairsOf4(
  ones: bool,
  rows: usize,
  values: usize,
  v: usize,
  stride: u32,
  totals: usize,
  from: u32,
  to: u32,
  lanes: v128,
): v128 {
  let s = f32x4.splat(0);
  let q = s;
  for (let at = from; at < to; at++) {
    let p = v128.load(v + load<u32>(rows + (at << 2)) * stride);
    if (!ones) p = f32x4.mul(p, v128.load32_splat(values + (at << 2)));
    s = f32x4.add(s, p);
    q = f32x4.add(q, f32x4.mul(p, p));
  }
  v128.store(totals, s);
  return f32x4.add(lanes, f32x4.sub(f32x4.mul(s, s), q));
}

@inline function pairOf(
  ones: bool,
  rows: usize,
  values: usize,
  v: usize,
  stride: u32,
  total: usize,
  from: u32,
  to: u32,
): f32 {
  let s: f32 = 0;
  let q: f32 = 0;
  for (let at = from; at < to; at++) {
    let p = load<f32>(v + load<u32>(rows + (at << 2)) * stride);
    if (!ones) p *= load<f32>(values + (at << 2));
    s += p;
    q += p * p;
  }
  store<f32>(total, s);
  return s * s - q;
}

/** gradient_f += (slope × x) × (s_f − v_f x) for each feature, in f32. */
@inline function addFactors(
  ones: bool,
  rows: usize,
  values: usize,
  v: usize,
  gradient: usize,
  factors: u32,
  totals: usize,
  from: u32,
  to: u32,
  slope: f32,
): void {
  const stride = factors << 2;
  let f: u32 = 0;
  for (; f + 16 <= factors; f += 16) {
    addFactors16(ones, rows, values, v + (f << 2), gradient + (f << 2), stride, totals + (f << 2), from, to, slope);
  }
  for (; f + 4 <= factors; f += 4) {
    const s = v128.load(totals + (f << 2));
    for (let at = from; at < to; at++) {
      const row = load<u32>(rows + (at << 2)) * stride + (f << 2);
      const x = ones ? <f32>1 : load<f32>(values + (at << 2));
      const scaled = f32x4.splat(ones ? slope : slope * x);
      addRow(ones, v + row, gradient + row, s, scaled, f32x4.splat(x));
    }
  }
  for (; f < factors; f++) {
    const s = load<f32>(totals + (f << 2));
    for (let at = from; at < to; at++) {
      const row = load<u32>(rows + (at << 2)) * stride + (f << 2);
      const x = ones ? <f32>1 : load<f32>(values + (at << 2));
      store<f32>(gradient + row, load<f32>(gradient + row) + slope * x * (s - load<f32>(v + row) * x));
    }
  }
}

@inline function addFactors16(
  ones: bool,
  rows: usize,
  values: usize,
  v: usize,
  gradient: usize,
  stride: u32,
  totals: usize,
  from: u32,
  to: u32,
  slope: f32,
): void {
  const s0 = v128.load(totals);
  const s1 = v128.load(totals, 16);
  const s2 = v128.load(totals, 32);
  const s3 = v128.load(totals, 48);
  let scaled = f32x4.splat(slope);
  let xs = scaled;
  for (let at = from; at < to; at++) {
    const row = load<u32>(rows + (at << 2)) * stride;
    if (!ones) {
      const x = load<f32>(values + (at << 2));
      scaled = f32x4.splat(slope * x);
      xs = f32x4.splat(x);
    }
    addRow(ones, v + row, gradient + row, s0, scaled, xs);
    addRow(ones, v + row + 16, gradient + row + 16, s1, scaled, xs);
    addRow(ones, v + row + 32, gradient + row + 32, s2, scaled, xs);
    addRow(ones, v + row + 48, gradient + row + 48, s3, scaled, xs);
  }
}

@inline function addRow(ones: bool, v: usize, gradient: usize, s: v128, scaled: v128, xs: v128): void {
  const p = ones ? v128.load(v) : f32x4.mul(v128.load(v), xs);
  v128.store(gradient, f32x4.add(v128.load(gradient), f32x4.mul(scaled, f32x4.sub(s, p))));
}
