/**
 * Elementary functions for model values, in f64, the same bits on every machine: they are WebAssembly code made of IEEE
 * 754 additions, multiplications, divisions, square roots and bit operations. JavaScript's `Math.exp`, `log`, `pow`,
 * `sin` and `cos` may differ between engines and are banned from values. Within 1 ulp of the true value, `tanh` and
 * `sigmoid` within 2. Special cases (NaN, infinities, signed zeros) are those of C99 Annex F.
 */
import { instantiateKernels } from './kernels/instance.ts';

const kernels = instantiateKernels(2).exports;

/** e^x. */
export const exp: (x: number) => number = kernels.exp;
/** Natural logarithm; NaN below zero, -Infinity at zero. */
export const log: (x: number) => number = kernels.log;
/** log(1 + x), exact near zero. */
export const log1p: (x: number) => number = kernels.log1p;
/** x^y. */
export const pow: (x: number, y: number) => number = kernels.pow;
/** Sine of x in radians. */
export const sin: (x: number) => number = kernels.sin;
/** Cosine of x in radians. */
export const cos: (x: number) => number = kernels.cos;
/** Hyperbolic tangent. */
export const tanh: (x: number) => number = kernels.tanh;
/** 1 / (1 + e^-x). */
export const sigmoid: (x: number) => number = kernels.sigmoid;
