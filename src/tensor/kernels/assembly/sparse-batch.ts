// Records in compressed sparse rows, as kernels of models read them: each is at `offsets` (u32, records + 1 of them) in
// `rows` (u32, the row of each feature) and `values` (f32; an address of 0 when every value is 1).

/** Whether offsets ascend from 0 to `features` and all rows are below `distinct`. */
export function isBatch(records: u32, offsets: usize, rows: usize, features: u32, distinct: u32): bool {
  let before = load<u32>(offsets);
  if (before != 0) return false;
  for (let record: u32 = 1; record <= records; record++) {
    const offset = load<u32>(offsets + (record << 2));
    if (offset < before) return false;
    before = offset;
  }
  if (before != features) return false;
  let most = i32x4.splat(0);
  let at: u32 = 0;
  for (; at + 4 <= features; at += 4) most = i32x4.max_u(most, v128.load(rows + (at << 2)));
  let largest = max(
    max(<u32>i32x4.extract_lane(most, 0), <u32>i32x4.extract_lane(most, 1)),
    max(<u32>i32x4.extract_lane(most, 2), <u32>i32x4.extract_lane(most, 3)),
  );
  for (; at < features; at++) largest = max(largest, load<u32>(rows + (at << 2)));
  return features == 0 || largest < distinct;
}

/**
 * Σ w x of the features from `from` up to `to`, in f64: products of f32 are exact there. The feature at place n of the
 * record goes to sum n mod 4, and the result is (sum 0 + sum 1) + (sum 2 + sum 3): four chains of additions run side by
 * side.
 */
export function weigh(rows: usize, values: usize, w: usize, from: u32, to: u32): f64 {
  return values == 0 ? weighFeatures(true, rows, values, w, from, to) : weighFeatures(false, rows, values, w, from, to);
}

@inline function weighFeatures(ones: bool, rows: usize, values: usize, w: usize, from: u32, to: u32): f64 {
  let a: f64 = 0;
  let b: f64 = 0;
  let c: f64 = 0;
  let d: f64 = 0;
  let row = rows + (from << 2);
  let x = values + (from << 2);
  const end = rows + (to << 2);
  for (; row + 16 <= end; row += 16) {
    a += product(ones, load<u32>(row), x, w);
    b += product(ones, load<u32>(row, 4), x + 4, w);
    c += product(ones, load<u32>(row, 8), x + 8, w);
    d += product(ones, load<u32>(row, 12), x + 12, w);
    x += 16;
  }
  if (row < end) a += product(ones, load<u32>(row), x, w);
  if (row + 4 < end) b += product(ones, load<u32>(row, 4), x + 4, w);
  if (row + 8 < end) c += product(ones, load<u32>(row, 8), x + 8, w);
  return (a + b) + (c + d);
}

@inline function product(ones: bool, row: u32, x: usize, w: usize): f64 {
  const weight = <f64>load<f32>(w + (row << 2));
  return ones ? weight : weight * <f64>load<f32>(x);
}

/** gradient[row] += slope × x for the features from `from` up to `to`, in f32 and in their order. */
export function addSlopes(rows: usize, values: usize, gradient: usize, from: u32, to: u32, slope: f32): void {
  const end = rows + (to << 2);
  let row = rows + (from << 2);
  if (values == 0) {
    for (; row < end; row += 4) {
      const at = gradient + (load<u32>(row) << 2);
      store<f32>(at, load<f32>(at) + slope);
    }
    return;
  }
  for (let x = values + (from << 2); row < end; row += 4) {
    const at = gradient + (load<u32>(row) << 2);
    store<f32>(at, load<f32>(at) + slope * load<f32>(x));
    x += 4;
  }
}
