// Looks for NaN and infinity: floats with all exponent bits set.

const EXPONENT: u32 = 0x7f800000;
/** Floats between two looks at what was found. */
const STRIDE: u32 = 4096;

/** Index of the first of `count` floats that is not finite, or -1. */
export function firstNotFinite(floats: usize, count: u32): i32 {
  for (let from: u32 = 0; from < count; from += STRIDE) {
    const to = min(count, from + STRIDE);
    const whole = from + ((to - from) & ~15);
    const isBad = largestExponent(floats + (from << 2), floats + (whole << 2)) == EXPONENT;
    for (let i = isBad ? from : whole; i < to; i++) {
      if ((load<u32>(floats + (i << 2)) & EXPONENT) == EXPONENT) return <i32>i;
    }
  }
  return -1;
}

/**
 * The largest exponent of the floats from `at` to `end`, a multiple of 16 floats. Two operations for four floats, no
 * branch.
 */
@inline function largestExponent(at: usize, end: usize): u32 {
  const mask = i32x4.splat(EXPONENT);
  let a = i32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (; at < end; at += 64) {
    a = i32x4.max_u(a, v128.and(v128.load(at), mask));
    b = i32x4.max_u(b, v128.and(v128.load(at, 16), mask));
    c = i32x4.max_u(c, v128.and(v128.load(at, 32), mask));
    d = i32x4.max_u(d, v128.and(v128.load(at, 48), mask));
  }
  const most = i32x4.max_u(i32x4.max_u(a, b), i32x4.max_u(c, d));
  return max(
    max(<u32>i32x4.extract_lane(most, 0), <u32>i32x4.extract_lane(most, 1)),
    max(<u32>i32x4.extract_lane(most, 2), <u32>i32x4.extract_lane(most, 3)),
  );
}
