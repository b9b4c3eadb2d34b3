// Multinomial logistic regression on dense inputs, a whole mini-batch at a time: p = softmax(x W + b).
//
// Inputs are f32, or bytes that stand for byte / 255 (`inputBytes` is 4 or 1). Those of 0, most of an image, add
// nothing and are passed over. Those that are left count from 0: the even ones add x W to one sum for each class, the
// odd ones to another, in f32, and the logit is b + (even + odd). Probabilities and losses are f64, summed in the order
// of the classes and of the records. The slope of a class is f32(weight × (p − onehot) / records), or 0 if that is tiny
// (tiny.ts). W's gradient adds x × slope, in f32, record by record.
//
// Rows of W are padded to whole vectors: `scratch` has W and its gradient so, and what one record needs.

import { addClasses, slopeOf, startClasses, storeClasses, writeProbabilities } from './class-loss';
import { weightOf } from './output-loss';
import { TINY, zeroBelow } from './tiny';

/** Classes rounded up to whole vectors. */
@inline function paddedTo(classes: u32): u32 {
  return (classes + 3) & ~3;
}

let places: usize = 0;
let inputsLeft: usize = 0;
let logits: usize = 0;
let powers: usize = 0;
let slopes: usize = 0;
let biasSums: usize = 0;
let paddedBias: usize = 0;
let paddedW: usize = 0;
let paddedGradient: usize = 0;

/** Bytes of `scratch`. Hands out the places in it, too. */
export function softmaxScratch(scratch: usize, width: u32, classes: u32): u32 {
  const padded = paddedTo(classes) << 2;
  let at = scratch;
  powers = at;
  biasSums = at += classes << 3;
  logits = at += classes << 3;
  slopes = at += padded;
  paddedBias = at += padded;
  places = at += padded;
  inputsLeft = at += width << 2;
  paddedW = at += width << 2;
  paddedGradient = at += width * padded;
  return <u32>(at + width * padded - scratch);
}

/**
 * `weights` is 0 when all are 1, `gradientW` and `gradientB` when no gradient is wanted, `scores` when none are.
 * `sums`: Σ weight, loss, correct, squared error, each f64 and times the weight.
 */
export function stepSoftmax(
  records: u32,
  inputs: usize,
  inputBytes: u32,
  labels: usize,
  weights: usize,
  width: u32,
  classes: u32,
  w: usize,
  b: usize,
  gradientW: usize,
  gradientB: usize,
  scores: usize,
  sums: usize,
  scratch: usize,
): void {
  const padded = paddedTo(classes);
  const rows = paddedRows(width, classes, w, b, scratch);
  const gradient = padded == classes ? gradientW : paddedGradient;
  if (gradientW != 0) memory.fill(gradient, 0, (width * padded) << 2);
  memory.fill(biasSums, 0, classes << 3);
  memory.fill(slopes, 0, padded << 2);
  startClasses();
  for (let record: u32 = 0; record < records; record++) {
    const label = <u32>load<f32>(labels + (record << 2));
    const left = collectInputs(inputs + record * width * inputBytes, inputBytes, width, padded << 2);
    writeLogits(rows, padded, left);
    const weight = weightOf(weights, record);
    const score = scores == 0 ? 0 : scores + (record << 2);
    const total = addClasses(logits, classes, label, weight, powers, score);
    if (gradientW == 0) continue;
    writeSlopes(classes, total, label, weight, <f64>records);
    for (let c: u32 = 0; c < padded; c += 4) {
      if (c + 12 <= padded) {
        backward12(gradient + (c << 2), c << 2, left);
        c += 8;
      } else backward4(gradient + (c << 2), c << 2, left);
    }
  }
  storeClasses(sums);
  if (gradientW == 0) return;
  if (padded != classes) copyRows(gradient, padded, gradientW, classes, width);
  for (let c: u32 = 0; c < classes; c++) {
    const sum = load<f64>(biasSums + (c << 3));
    store<f32>(gradientB + (c << 2), records == 0 ? 0 : <f32>(sum / <f64>records));
  }
}

/**
 * The probability of each class, as f32: `probabilities` has room for records × classes. The probability of a label has
 * the bits of its score.
 */
export function predictSoftmax(
  records: u32,
  inputs: usize,
  inputBytes: u32,
  width: u32,
  classes: u32,
  w: usize,
  b: usize,
  probabilities: usize,
  scratch: usize,
): void {
  const padded = paddedTo(classes);
  const rows = paddedRows(width, classes, w, b, scratch);
  for (let record: u32 = 0; record < records; record++) {
    writeLogits(rows, padded, collectInputs(inputs + record * width * inputBytes, inputBytes, width, padded << 2));
    writeProbabilities(logits, classes, powers, probabilities);
    probabilities += classes << 2;
  }
}

/** Lays out the scratch memory, with the bias in it. Returns where the weights are, padded if they have to be. */
function paddedRows(width: u32, classes: u32, w: usize, b: usize, scratch: usize): usize {
  softmaxScratch(scratch, width, classes);
  const padded = paddedTo(classes);
  copyRows(b, classes, paddedBias, padded, 1);
  if (padded == classes) return w;
  copyRows(w, classes, paddedW, padded, width);
  return paddedW;
}

/** Logits of all classes, the padding included. */
@inline function writeLogits(rows: usize, padded: u32, left: u32): void {
  for (let c: u32 = 0; c < padded; c += 4) {
    if (c + 12 <= padded) {
      forward12(rows + (c << 2), c << 2, left);
      c += 8;
    } else forward4(rows + (c << 2), c << 2, left);
  }
}

/** Copies rows of one width to rows of another: cut, or filled up with zeros. */
function copyRows(from: usize, fromWidth: u32, to: usize, toWidth: u32, rows: u32): void {
  const copied = min(fromWidth, toWidth);
  for (let row: u32 = 0; row < rows; row++) {
    for (let c: u32 = 0; c < copied; c++) store<f32>(to + (c << 2), load<f32>(from + (c << 2)));
    for (let c = copied; c < toWidth; c++) store<f32>(to + (c << 2), 0);
    from += fromWidth << 2;
    to += toWidth << 2;
  }
}

/** Writes the inputs that are not 0, as f32, and how far their rows are from the first; returns their number. */
@inline function collectInputs(inputs: usize, inputBytes: u32, width: u32, stride: u32): u32 {
  return inputBytes == 1 ? collectBytes(inputs, width, stride) : collectFloats(inputs, width, stride);
}

function collectFloats(inputs: usize, width: u32, stride: u32): u32 {
  const zero = f32x4.splat(0);
  let left: u32 = 0;
  let i: u32 = 0;
  for (; i + 4 <= width; i += 4) {
    const four = v128.load(inputs + (i << 2));
    for (let bits = i32x4.bitmask(f32x4.ne(four, zero)); bits != 0; bits &= bits - 1) {
      const at = i + ctz(bits);
      left = collect(load<f32>(inputs + (at << 2)), at * stride, left);
    }
  }
  for (; i < width; i++) {
    const x = load<f32>(inputs + (i << 2));
    if (x != 0) left = collect(x, i * stride, left);
  }
  return left;
}

function collectBytes(inputs: usize, width: u32, stride: u32): u32 {
  const zero = i8x16.splat(0);
  let left: u32 = 0;
  let i: u32 = 0;
  for (; i + 16 <= width; i += 16) {
    for (let bits = i8x16.bitmask(i8x16.ne(v128.load(inputs + i), zero)); bits != 0; bits &= bits - 1) {
      const at = i + ctz(bits);
      left = collect(unitOf(load<u8>(inputs + at)), at * stride, left);
    }
  }
  for (; i < width; i++) {
    const byte = load<u8>(inputs + i);
    if (byte != 0) left = collect(unitOf(byte), i * stride, left);
  }
  return left;
}

/** Rounds as a division in f64 that is rounded to f32 does: both numbers are exact. */
@inline function unitOf(byte: u8): f32 {
  return <f32>byte / 255;
}

@inline function collect(x: f32, place: u32, left: u32): u32 {
  store<u32>(places + (left << 2), place);
  store<f32>(inputsLeft + (left << 2), x);
  return left + 1;
}

/** Logits of twelve classes, `offset` bytes from the first one. */
function forward12(rows: usize, offset: u32, left: u32): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let b0 = a0;
  let b1 = a0;
  let b2 = a0;
  let n: u32 = 0;
  for (; n + 2 <= left; n += 2) {
    const even = rows + load<u32>(places + (n << 2));
    const odd = rows + load<u32>(places + (n << 2), 4);
    const x = v128.load32_splat(inputsLeft + (n << 2));
    const y = v128.load32_splat(inputsLeft + (n << 2), 4);
    a0 = f32x4.add(a0, f32x4.mul(x, v128.load(even)));
    a1 = f32x4.add(a1, f32x4.mul(x, v128.load(even, 16)));
    a2 = f32x4.add(a2, f32x4.mul(x, v128.load(even, 32)));
    b0 = f32x4.add(b0, f32x4.mul(y, v128.load(odd)));
    b1 = f32x4.add(b1, f32x4.mul(y, v128.load(odd, 16)));
    b2 = f32x4.add(b2, f32x4.mul(y, v128.load(odd, 32)));
  }
  if (n < left) {
    const even = rows + load<u32>(places + (n << 2));
    const x = v128.load32_splat(inputsLeft + (n << 2));
    a0 = f32x4.add(a0, f32x4.mul(x, v128.load(even)));
    a1 = f32x4.add(a1, f32x4.mul(x, v128.load(even, 16)));
    a2 = f32x4.add(a2, f32x4.mul(x, v128.load(even, 32)));
  }
  const bias = paddedBias + offset;
  const to = logits + offset;
  v128.store(to, f32x4.add(v128.load(bias), f32x4.add(a0, b0)));
  v128.store(to, f32x4.add(v128.load(bias, 16), f32x4.add(a1, b1)), 16);
  v128.store(to, f32x4.add(v128.load(bias, 32), f32x4.add(a2, b2)), 32);
}

/** Logits of four classes. */
function forward4(rows: usize, offset: u32, left: u32): void {
  let a = f32x4.splat(0);
  let b = a;
  let n: u32 = 0;
  for (; n + 2 <= left; n += 2) {
    const x = v128.load32_splat(inputsLeft + (n << 2));
    const y = v128.load32_splat(inputsLeft + (n << 2), 4);
    a = f32x4.add(a, f32x4.mul(x, v128.load(rows + load<u32>(places + (n << 2)))));
    b = f32x4.add(b, f32x4.mul(y, v128.load(rows + load<u32>(places + (n << 2), 4))));
  }
  if (n < left) {
    const x = v128.load32_splat(inputsLeft + (n << 2));
    a = f32x4.add(a, f32x4.mul(x, v128.load(rows + load<u32>(places + (n << 2)))));
  }
  v128.store(logits + offset, f32x4.add(v128.load(paddedBias + offset), f32x4.add(a, b)));
}

function writeSlopes(classes: u32, total: f64, label: u32, weight: f64, records: f64): void {
  for (let c: u32 = 0; c < classes; c++) {
    const slope = slopeOf(powers, c, total, label, weight);
    const sum = biasSums + (c << 3);
    store<f64>(sum, load<f64>(sum) + slope);
    store<f32>(slopes + (c << 2), zeroBelow(<f32>(slope / records), TINY));
  }
}

function backward12(gradient: usize, offset: u32, left: u32): void {
  const s0 = v128.load(slopes + offset);
  const s1 = v128.load(slopes + offset, 16);
  const s2 = v128.load(slopes + offset, 32);
  for (let n: u32 = 0; n < left; n++) {
    const row = gradient + load<u32>(places + (n << 2));
    const x = v128.load32_splat(inputsLeft + (n << 2));
    v128.store(row, f32x4.add(v128.load(row), f32x4.mul(x, s0)));
    v128.store(row, f32x4.add(v128.load(row, 16), f32x4.mul(x, s1)), 16);
    v128.store(row, f32x4.add(v128.load(row, 32), f32x4.mul(x, s2)), 32);
  }
}

function backward4(gradient: usize, offset: u32, left: u32): void {
  const s = v128.load(slopes + offset);
  for (let n: u32 = 0; n < left; n++) {
    const row = gradient + load<u32>(places + (n << 2));
    v128.store(row, f32x4.add(v128.load(row), f32x4.mul(v128.load32_splat(inputsLeft + (n << 2)), s)));
  }
}
