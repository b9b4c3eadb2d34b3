// Floats nearer to 0 than 2^-100 are 0. Without that rule, L2 and decaying moments shrink what no record touches until
// it is denormal, where it stays: 0.9 × the smallest float rounds to the smallest float. Processors compute with
// denormal floats many times more slowly, and WebAssembly cannot tell them to take denormal floats for 0.
//
// With that bound no sum of floats is denormal: all of them are multiples of 2^-123. NaN stays NaN, and −0 becomes 0.

/** Below this magnitude a float that is kept or passed on is 0: 2^-100, some 8e-31. */
const TINY: f32 = reinterpret<f32>(0x0d800000);

/** The root of `TINY`, 2^-50: the square of a gradient below it is 0. */
const TINY_ROOT: f32 = reinterpret<f32>(0x26800000);

/** Below this magnitude a factor of a product of matrices counts as 0: 2^-63, as 2^-126 is the least normal float. */
const TINY_FACTOR: f32 = reinterpret<f32>(0x20000000);

@inline function zeroBelow(bound: f32, x: v128): v128 {
  return v128.andnot(x, f32x4.lt(f32x4.abs(x), f32x4.splat(bound)));
}

/** Four floats, or 0 for those that are tiny. */
@inline export function kept4(x: v128): v128 {
  return zeroBelow(TINY, x);
}

/** The float, or 0 if it is tiny. */
@inline export function kept(x: f32): f32 {
  return abs<f32>(x) < TINY ? 0 : x;
}

/** x², or 0 where it would be tiny. */
@inline export function square4(x: v128): v128 {
  const rooted = zeroBelow(TINY_ROOT, x);
  return f32x4.mul(rooted, rooted);
}

@inline export function square(x: f32): f32 {
  return abs<f32>(x) < TINY_ROOT ? 0 : x * x;
}

/** Four factors of a product of matrices, or 0 for those with which a product could be denormal. */
@inline export function factors4(x: v128): v128 {
  return zeroBelow(TINY_FACTOR, x);
}

@inline export function factor(x: f32): f32 {
  return abs<f32>(x) < TINY_FACTOR ? 0 : x;
}

/** Makes those of `count` floats 0 that are tiny. */
export function dropTiny(count: u32, floats: usize): void {
  const end = floats + (<usize>count << 2);
  for (; floats + 16 <= end; floats += 16) v128.store(floats, kept4(v128.load(floats)));
  for (; floats < end; floats += 4) store<f32>(floats, kept(load<f32>(floats)));
}
