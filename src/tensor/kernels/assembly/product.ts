// Products of matrices: C = A B. Each element of C is one chain of f32 sums, a product after the other in the order of
// k, from 0; products are rounded before they are added.
//
// Tiles of 4 × 8 elements are computed at a time. For them A is copied into panels of four rows and B into panels of
// eight columns, in the order in which a tile reads them; what is missing at the edges is 0. A copy costs as much as
// one column, or one row, of the product. It makes a product the same for matrices that are read across and down. The
// copy has 0 for factors that are so small that a product could be denormal (tiny.ts).

import { TINY_FACTOR, tinyFactors, zeroBelow, zeroBelow4 } from './tiny';

const TILE_ROWS: u32 = 4;
const TILE_COLUMNS: u32 = 8;

/** A tile that is not wholly inside C. */
const edge: usize = memory.data(TILE_ROWS * TILE_COLUMNS * 4, 16);

@inline function tilesOf(count: u32, width: u32): u32 {
  return (count + width - 1) / width;
}

/** Bytes that `product` needs besides its matrices: all panels of A, and one of B. May be more than memory can have. */
@inline export function productScratch(rows: u32, depth: u32): f64 {
  return <f64>(tilesOf(rows, TILE_ROWS) * TILE_ROWS + TILE_COLUMNS) * <f64>depth * 4.0;
}

/**
 * C [rows × columns], one row behind the other. Element (i, k) of A [rows × depth] is at a + i × aRow + k × aStep,
 * (k, j) of B [depth × columns] at b + k × bStep + j × bColumn: distances are in bytes, and one of each two is 4.
 */
export function product(
  rows: u32,
  columns: u32,
  depth: u32,
  a: usize,
  aRow: usize,
  aStep: usize,
  b: usize,
  bStep: usize,
  bColumn: usize,
  c: usize,
  scratch: usize,
): void {
  const panelBytes = (depth * TILE_ROWS) << 2;
  const panelB = scratch + tilesOf(rows, TILE_ROWS) * panelBytes;
  const cRow = <usize>columns << 2;
  for (let i: u32 = 0; i < rows; i += TILE_ROWS) {
    pack(a + i * aRow, min(TILE_ROWS, rows - i), depth, aRow, aStep, scratch + (i / TILE_ROWS) * panelBytes, 16);
  }
  for (let j: u32 = 0; j < columns; j += TILE_COLUMNS) {
    const width = min(TILE_COLUMNS, columns - j);
    const from = b + j * bColumn;
    pack(from, min<u32>(4, width), depth, bColumn, bStep, panelB, 32);
    pack(from + 4 * bColumn, width > 4 ? width - 4 : 0, depth, bColumn, bStep, panelB + 16, 32);
    let panelA = scratch;
    for (let i: u32 = 0; i < rows; i += TILE_ROWS) {
      const height = min(TILE_ROWS, rows - i);
      const to = c + i * cRow + (j << 2);
      if (height == TILE_ROWS && width == TILE_COLUMNS) tile(panelA, panelB, depth, to, cRow);
      else {
        tile(panelA, panelB, depth, edge, 32);
        for (let row: u32 = 0; row < height; row++) memory.copy(to + row * cRow, edge + (row << 5), width << 2);
      }
      panelA += panelBytes;
    }
  }
}

/** For each k, four floats a `lane` apart, of which `count` are there, go to `to`; the next ones `toStep` behind. */
function pack(from: usize, count: u32, depth: u32, lane: usize, step: usize, to: usize, toStep: usize): void {
  const tiny = tinyFactors();
  if (count < 4) {
    for (let k: u32 = 0; k < depth; k++) {
      v128.store(to, f32x4.splat(0));
      for (let at: u32 = 0; at < count; at++) store<f32>(to + (at << 2), zeroBelow(load<f32>(from + at * lane), TINY_FACTOR));
      from += step;
      to += toStep;
    }
    return;
  }
  if (lane == 4) {
    for (let k: u32 = 0; k < depth; k++) {
      v128.store(to, zeroBelow4(v128.load(from), tiny));
      from += step;
      to += toStep;
    }
    return;
  }
  let k: u32 = 0;
  for (; k + 4 <= depth; k += 4) {
    const first = zeroBelow4(v128.load(from), tiny);
    const second = zeroBelow4(v128.load(from + lane), tiny);
    const third = zeroBelow4(v128.load(from + 2 * lane), tiny);
    const fourth = zeroBelow4(v128.load(from + 3 * lane), tiny);
    const low12 = v128.shuffle<i32>(first, second, 0, 4, 1, 5);
    const high12 = v128.shuffle<i32>(first, second, 2, 6, 3, 7);
    const low34 = v128.shuffle<i32>(third, fourth, 0, 4, 1, 5);
    const high34 = v128.shuffle<i32>(third, fourth, 2, 6, 3, 7);
    v128.store(to, v128.shuffle<i64>(low12, low34, 0, 2));
    v128.store(to + toStep, v128.shuffle<i64>(low12, low34, 1, 3));
    v128.store(to + 2 * toStep, v128.shuffle<i64>(high12, high34, 0, 2));
    v128.store(to + 3 * toStep, v128.shuffle<i64>(high12, high34, 1, 3));
    from += 16;
    to += 4 * toStep;
  }
  for (; k < depth; k++) {
    for (let at: usize = 0; at < 4; at++) store<f32>(to + (at << 2), zeroBelow(load<f32>(from + at * lane), TINY_FACTOR));
    from += 4;
    to += toStep;
  }
}

/** Four rows of a panel of A by eight columns of a panel of B. */
function tile(a: usize, b: usize, depth: u32, to: usize, row: usize): void {
  let c00 = f32x4.splat(0);
  let c01 = c00;
  let c10 = c00;
  let c11 = c00;
  let c20 = c00;
  let c21 = c00;
  let c30 = c00;
  let c31 = c00;
  for (let end = a + (depth << 4); a < end; a += 16) {
    const b0 = v128.load(b);
    const b1 = v128.load(b, 16);
    const a0 = v128.load32_splat(a);
    c00 = f32x4.add(c00, f32x4.mul(a0, b0));
    c01 = f32x4.add(c01, f32x4.mul(a0, b1));
    const a1 = v128.load32_splat(a, 4);
    c10 = f32x4.add(c10, f32x4.mul(a1, b0));
    c11 = f32x4.add(c11, f32x4.mul(a1, b1));
    const a2 = v128.load32_splat(a, 8);
    c20 = f32x4.add(c20, f32x4.mul(a2, b0));
    c21 = f32x4.add(c21, f32x4.mul(a2, b1));
    const a3 = v128.load32_splat(a, 12);
    c30 = f32x4.add(c30, f32x4.mul(a3, b0));
    c31 = f32x4.add(c31, f32x4.mul(a3, b1));
    b += 32;
  }
  v128.store(to, c00);
  v128.store(to, c01, 16);
  v128.store(to + row, c10);
  v128.store(to + row, c11, 16);
  v128.store(to + 2 * row, c20);
  v128.store(to + 2 * row, c21, 16);
  v128.store(to + 3 * row, c30);
  v128.store(to + 3 * row, c31, 16);
}

// A dense layer, Y = X W: `inputs` X [records × width], `weights` W [width × units], both one row behind the other.

/** Bytes of scratch that the three functions below need, for at most `records` records. */
export function denseScratch(records: u32, width: u32, units: u32): f64 {
  const forward = productScratch(records, width);
  const backward = max<f64>(productScratch(records, units), productScratch(width, records));
  return max<f64>(forward, backward);
}

/** Y. */
export function denseOutputs(
  records: u32,
  width: u32,
  units: u32,
  inputs: usize,
  weights: usize,
  outputs: usize,
  scratch: usize,
): void {
  product(records, units, width, inputs, width << 2, 4, weights, units << 2, 4, outputs, scratch);
}

/** dX = dY Wᵀ. */
export function denseInputGradient(
  records: u32,
  width: u32,
  units: u32,
  gradient: usize,
  weights: usize,
  inputGradient: usize,
  scratch: usize,
): void {
  product(records, width, units, gradient, units << 2, 4, weights, 4, units << 2, inputGradient, scratch);
}

/** dW = Xᵀ dY. */
export function denseWeightGradient(
  records: u32,
  width: u32,
  units: u32,
  inputs: usize,
  gradient: usize,
  weightGradient: usize,
  scratch: usize,
): void {
  product(width, units, records, inputs, 4, width << 2, gradient, units << 2, 4, weightGradient, scratch);
}
