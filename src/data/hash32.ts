import { mix32 } from '../base/mix32.ts';

/** 32 bits that depend on both halves of a number of 64 bits, and on a seed. */
export const hash32 = (low: number, high: number, seed: number): number =>
  mix32(mix32(low ^ seed) ^ Math.imul(high ^ 0x7f4a7c15, 0x9e3779b1));

/** The same of a whole number below 2^53. */
export const hashOfPosition = (position: number, seed: number): number =>
  hash32(position % 4_294_967_296, Math.floor(position / 4_294_967_296), seed);
