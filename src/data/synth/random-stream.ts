/** A seeded stream of random numbers for synthetic data: the same numbers on every machine. */
import { cos, log } from '../../tensor/math.ts';

export interface RandomStream {
  /** Uniform in [0, 1), 53 bits. */
  uniform(): number;
  /** Standard normal (Box & Muller 1958). */
  normal(): number;
}

/** xoshiro128** (Blackman & Vigna 2018, public domain), its state filled by splitmix32 from the seed. */
export function createRandomStream(seed: number): RandomStream {
  let filler = seed ^ Math.floor(seed / 2 ** 32);
  const state = Uint32Array.from({ length: 4 }, () => {
    filler = (filler + 0x9e3779b9) | 0;
    let z = Math.imul(filler ^ (filler >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  });

  function next(): number {
    const [a, b, c, d] = state as unknown as [number, number, number, number];
    const result = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
    state[2] = c ^ a;
    state[3] = d ^ b;
    state[1] = b ^ state[2]!;
    state[0] = a ^ state[3]!;
    state[2] = state[2]! ^ (b << 9);
    state[3] = rotated(state[3]!, 11);
    return result;
  }

  const uniform = (): number => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  return {
    uniform,
    // 1 − u is in (0, 1], so the logarithm is finite.
    normal: () => Math.sqrt(-2 * log(1 - uniform())) * cos(2 * Math.PI * uniform()),
  };
}

const rotated = (value: number, by: number): number => (value << by) | (value >>> (32 - by));
