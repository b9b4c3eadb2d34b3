// Weighted sums of rows and blocks, those of the lanes of a round (../../lane-fold.ts). Each float is computed in 64
// bits and rounded once.

/** Adds `weight` times row i of n to row places[i] of `sums`. */
export function addRows(sums: usize, places: usize, n: u32, width: u32, rows: usize, weight: f64): void {
  const bytes = <usize>width << 2;
  for (let i: u32 = 0; i < n; i++) {
    add(sums + load<u32>(places + (i << 2)) * bytes, rows, width, weight);
    rows += bytes;
  }
}

/** Adds `weight` times each of `count` floats to `sums`. */
export function addFloats(sums: usize, floats: usize, count: u32, weight: f64): void {
  add(sums, floats, count, weight);
}

@inline function add(sums: usize, floats: usize, count: u32, weight: f64): void {
  const weights = f64x2.splat(weight);
  let at: usize = 0;
  const pairs = <usize>(count & ~1) << 2;
  for (; at < pairs; at += 8) {
    const product = f64x2.mul(weights, pairAt(floats + at));
    v128.store64_lane(sums + at, f32x4.demote_f64x2_zero(f64x2.add(pairAt(sums + at), product)), 0);
  }
  if (count & 1) store<f32>(sums + at, <f32>(<f64>load<f32>(sums + at) + weight * <f64>load<f32>(floats + at)));
}

@inline function pairAt(floats: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(floats));
}

export function divideFloats(floats: usize, count: u32, divisor: f64): void {
  for (let at: usize = 0; at < <usize>count << 2; at += 4) {
    store<f32>(floats + at, <f32>(<f64>load<f32>(floats + at) / divisor));
  }
}

/** For each of n places from `known` on: puts the u32 of the list there. */
export function putFresh(places: usize, n: u32, known: u32, list: usize, to: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const place = load<u32>(places + (i << 2));
    if (place >= known) store<u32>(to + (<usize>place << 2), load<u32>(list + (i << 2)));
  }
}
