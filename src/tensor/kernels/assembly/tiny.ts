// Floats nearer to 0 than 2^-100 are 0. Without that rule, L2 and decaying moments shrink what no record touches until
// it is denormal, where it stays: 0.9 × the smallest float rounds to the smallest float. Processors compute with
// denormal floats many times more slowly, and WebAssembly cannot tell them to take denormal floats for 0.
//
// With that bound no sum of floats is denormal: all of them are multiples of 2^-123. NaN stays NaN, and −0 becomes 0.

/** Below this magnitude a float that is kept or passed on is 0: 2^-100, some 8e-31. */
export const TINY: f32 = reinterpret<f32>(0x0d800000);

/**
 * Below this magnitude an optimizer takes a gradient, a velocity or a first moment for 0: 2^-50, some 9e-16. The square
 * of what is left is not tiny, and neither are the steps that it makes.
 */
export const TINY_GRADIENT: f32 = reinterpret<f32>(0x26800000);

/** Below this magnitude a factor of a product of matrices counts as 0: 2^-63, as 2^-126 is the least normal float. */
export const TINY_FACTOR: f32 = reinterpret<f32>(0x20000000);

/** In memory, as the compiler would fill a vector with a constant again in each turn of a loop. */
const bounds: usize = memory.data<f32>([TINY, TINY_GRADIENT, TINY_FACTOR], 16);

@inline export function tinyKept(): v128 {
  return v128.load32_splat(bounds);
}

@inline export function tinyGradients(): v128 {
  return v128.load32_splat(bounds, 4);
}

@inline export function tinyFactors(): v128 {
  return v128.load32_splat(bounds, 8);
}

/** Four floats, or 0 for those below the bounds. */
@inline export function zeroBelow4(x: v128, bounds: v128): v128 {
  return v128.andnot(x, f32x4.lt(f32x4.abs(x), bounds));
}

@inline export function zeroBelow(x: f32, bound: f32): f32 {
  return abs<f32>(x) < bound ? 0 : x;
}

/** Makes those of `count` floats 0 that are tiny. */
export function dropTiny(count: u32, floats: usize): void {
  const tiny = tinyKept();
  const end = floats + (<usize>count << 2);
  for (; floats + 16 <= end; floats += 16) v128.store(floats, zeroBelow4(v128.load(floats), tiny));
  for (; floats < end; floats += 4) store<f32>(floats, zeroBelow(load<f32>(floats), TINY));
}
