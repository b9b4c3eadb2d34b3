// What layers do with each float, or with each row of them. Arrays of records are one row behind the other. Sums over
// records are f32, one chain in the order of the records.

import { sigmoid, tanh } from './math';

/** values + bias, a row for each record. */
export function addBias(records: u32, width: u32, values: usize, bias: usize): void {
  for (let record: u32 = 0; record < records; record++) {
    addValues(width, values, bias);
    values += width << 2;
  }
}

/** Σ over records. */
export function sumRecords(records: u32, width: u32, values: usize, to: usize): void {
  memory.fill(to, 0, width << 2);
  for (let record: u32 = 0; record < records; record++) {
    addValues(width, to, values);
    values += width << 2;
  }
}

/** values += others. */
export function addValues(count: u32, values: usize, others: usize): void {
  const end = values + (count << 2);
  for (; values + 16 <= end; values += 16, others += 16) {
    v128.store(values, f32x4.add(v128.load(values), v128.load(others)));
  }
  for (; values < end; values += 4, others += 4) store<f32>(values, load<f32>(values) + load<f32>(others));
}

/** Each is this value. */
export function fillValues(count: u32, value: f32, to: usize): void {
  for (let at: u32 = 0; at < count << 2; at += 4) store<f32>(to + at, value);
}

/** a × b. */
export function multiplyValues(count: u32, a: usize, b: usize, to: usize): void {
  const end = to + (count << 2);
  for (; to + 16 <= end; to += 16, a += 16, b += 16) v128.store(to, f32x4.mul(v128.load(a), v128.load(b)));
  for (; to < end; to += 4, a += 4, b += 4) store<f32>(to, load<f32>(a) * load<f32>(b));
}

/** Copies `width` floats of each row; rows are `fromRow` and `toRow` floats apart. */
export function copyColumns(rows: u32, width: u32, from: usize, fromRow: u32, to: usize, toRow: u32): void {
  for (let row: u32 = 0; row < rows; row++) {
    memory.copy(to, from, width << 2);
    from += fromRow << 2;
    to += toRow << 2;
  }
}

/** Bytes that stand for byte / 255. Rounds as a division in f64 that is rounded to f32 does: both numbers are exact. */
export function unitsOfBytes(count: u32, bytes: usize, to: usize): void {
  for (let at: u32 = 0; at < count; at++) store<f32>(to + (at << 2), <f32>load<u8>(bytes + at) / 255);
}

/** max(x, 0). */
export function relu(count: u32, x: usize, to: usize): void {
  const zero = f32x4.splat(0);
  const end = to + (count << 2);
  for (; to + 16 <= end; to += 16, x += 16) v128.store(to, f32x4.max(v128.load(x), zero));
  for (; to < end; to += 4, x += 4) store<f32>(to, max<f32>(load<f32>(x), 0));
}

/** The gradient where the output y is above 0; elsewhere 0. */
export function reluGradient(count: u32, y: usize, gradient: usize, to: usize): void {
  const zero = f32x4.splat(0);
  const end = to + (count << 2);
  for (; to + 16 <= end; to += 16, y += 16, gradient += 16) {
    v128.store(to, v128.and(v128.load(gradient), f32x4.gt(v128.load(y), zero)));
  }
  for (; to < end; to += 4, y += 4, gradient += 4) store<f32>(to, load<f32>(y) > 0 ? load<f32>(gradient) : 0);
}

/** 1 / (1 + e^−x), computed in f64. */
export function sigmoids(count: u32, x: usize, to: usize): void {
  for (let at: u32 = 0; at < count << 2; at += 4) store<f32>(to + at, <f32>sigmoid(load<f32>(x + at)));
}

/** gradient × (y (1 − y)), y the output. */
export function sigmoidGradient(count: u32, y: usize, gradient: usize, to: usize): void {
  for (let at: u32 = 0; at < count << 2; at += 4) {
    const output = load<f32>(y + at);
    store<f32>(to + at, load<f32>(gradient + at) * (output * (1 - output)));
  }
}

/** tanh x, computed in f64. */
export function tanhs(count: u32, x: usize, to: usize): void {
  for (let at: u32 = 0; at < count << 2; at += 4) store<f32>(to + at, <f32>tanh(load<f32>(x + at)));
}

/** gradient × (1 − y²), y the output. */
export function tanhGradient(count: u32, y: usize, gradient: usize, to: usize): void {
  for (let at: u32 = 0; at < count << 2; at += 4) {
    const output = load<f32>(y + at);
    store<f32>(to + at, load<f32>(gradient + at) * (1 - output * output));
  }
}
