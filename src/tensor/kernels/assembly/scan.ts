// Looks for NaN and infinity: floats with all exponent bits set.

const EXPONENT: u32 = 0x7f800000;

/** Index of the first of `count` floats that is not finite, or -1. */
export function firstNotFinite(floats: usize, count: u32): i32 {
  const mask = i32x4.splat(EXPONENT);
  let i: u32 = 0;
  for (; i + 16 <= count; i += 16) {
    const at = floats + (i << 2);
    const a = i32x4.eq(v128.and(v128.load(at), mask), mask);
    const b = i32x4.eq(v128.and(v128.load(at, 16), mask), mask);
    const c = i32x4.eq(v128.and(v128.load(at, 32), mask), mask);
    const d = i32x4.eq(v128.and(v128.load(at, 48), mask), mask);
    if (v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) break;
  }
  for (; i < count; i++) {
    if ((load<u32>(floats + (i << 2)) & EXPONENT) == EXPONENT) return <i32>i;
  }
  return -1;
}
