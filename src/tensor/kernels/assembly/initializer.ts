// First values. Element (id, column) of a table and element i of a dense parameter depend on the key (made of the job's
// seed and the name) and on nothing else; each counter of Philox serves four adjacent elements.

import { cos, log, sin } from './math';
import { philox, philox4 } from './philox';

export const KIND_CONSTANT: u32 = 0;
export const KIND_UNIFORM: u32 = 1;
export const KIND_NORMAL: u32 = 2;

const TWO_PI: f64 = 6.283185307179586;
const words: usize = memory.data(64, 16);

/**
 * Up to 16 random words into `words`. A row (dense = false) counts (id low, id high, group, 1), a dense parameter
 * (group low, group high, 0, 2), where a group is four elements.
 */
@inline function randomWords(key: u64, id: u64, group: u64, dense: bool, count: u32): void {
  if (count <= 4) {
    if (dense) philox(words, key, <u32>group, <u32>(group >> 32), 0, 2);
    else philox(words, key, <u32>id, <u32>(id >> 32), <u32>group, 1);
    return;
  }
  if (!dense) {
    const groups = i32x4.add(i32x4.splat(<u32>group), i32x4(0, 1, 2, 3));
    philox4(words, key, i32x4.splat(<u32>id), i32x4.splat(<u32>(id >> 32)), groups, i32x4.splat(1));
    return;
  }
  // A dense parameter has under 2^32 elements in blocks of a multiple of 16: the high word is the same in all lanes.
  const groups = i32x4.add(i32x4.splat(<u32>group), i32x4(0, 1, 2, 3));
  philox4(words, key, groups, i32x4.splat(<u32>(group >> 32)), i32x4.splat(0), i32x4.splat(2));
}

/** low + u × range, u the upper 24 bits of a word as a fraction in [0, 1). */
function uniformFromWords(out: usize, count: u32, low: f32, range: f32): void {
  const scale = f32x4.splat(5.9604644775390625e-8);
  let i: u32 = 0;
  for (; i + 4 <= count; i += 4) {
    const fraction = f32x4.mul(f32x4.convert_i32x4_u(i32x4.shr_u(v128.load(words + (i << 2)), 8)), scale);
    const value = f32x4.add(f32x4.splat(low), f32x4.mul(fraction, f32x4.splat(range)));
    v128.store(out + (i << 2), value);
  }
  for (; i < count; i++) {
    const fraction = <f32>(load<u32>(words + (i << 2)) >> 8) * <f32>5.9604644775390625e-8;
    store<f32>(out + (i << 2), low + fraction * range);
  }
}

/**
 * Box & Muller 1958 in f64: words 2k and 2k + 1 give elements 2k and 2k + 1; the first word's fraction is in (0, 1].
 */
function normalFromWords(out: usize, count: u32, mean: f64, deviation: f64): void {
  for (let i: u32 = 0; i < count; i += 2) {
    const u = (<f64>load<u32>(words + (i << 2)) + 1.0) * 2.3283064365386963e-10;
    const angle = TWO_PI * (<f64>load<u32>(words + (i << 2), 4) * 2.3283064365386963e-10);
    const radius = sqrt<f64>(-2.0 * log(u));
    store<f32>(out + (i << 2), <f32>(mean + deviation * (radius * cos(angle))));
    if (i + 1 < count) store<f32>(out + (i << 2), <f32>(mean + deviation * (radius * sin(angle))), 4);
  }
}

function fillConstant(out: usize, count: u32, value: f32): void {
  const all = f32x4.splat(value);
  let i: u32 = 0;
  for (; i + 4 <= count; i += 4) v128.store(out + (i << 2), all);
  for (; i < count; i++) store<f32>(out + (i << 2), value);
}

/** a, b: the constant; low and range; mean and standard deviation. */
function fill(out: usize, count: u32, kind: u32, a: f64, b: f64, key: u64, id: u64, element: u64, dense: bool): void {
  if (kind == KIND_CONSTANT) {
    fillConstant(out, count, <f32>a);
    return;
  }
  for (let i: u32 = 0; i < count; i += 16) {
    const some = min<u32>(16, count - i);
    randomWords(key, id, (element + i) >> 2, dense, some);
    if (kind == KIND_UNIFORM) uniformFromWords(out + (i << 2), some, <f32>a, <f32>b);
    else normalFromWords(out + (i << 2), some, a, b);
  }
}

export function fillRow(out: usize, width: u32, kind: u32, a: f64, b: f64, key: u64, id: u64): void {
  if (kind == KIND_CONSTANT) fillConstant(out, width, <f32>a);
  else fill(out, width, kind, a, b, key, id, 0, false);
}

/** Elements [element, element + count) of a dense parameter; `element` is a multiple of 16. */
export function fillDense(out: usize, count: u32, kind: u32, a: f64, b: f64, key: u64, element: u32): void {
  fill(out, count, kind, a, b, key, 0, element, true);
}
