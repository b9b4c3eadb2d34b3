/** Initializers as kernels take them: a kind, two numbers, a key. */
import { mix64 } from '../base/mix64.ts';
import { fnv1a64 } from './shard-hash.ts';
import type { Initializer } from './spec.ts';

export interface KernelInitializer {
  /** 0 constant, 1 uniform, 2 normal. */
  readonly kind: number;
  /** The constant; the lower end; the mean. */
  readonly a: number;
  /** Unused; upper end − lower end; the standard deviation. */
  readonly b: number;
  /** Philox's key, 64 bits. */
  readonly key: bigint;
}

const KIND = { constant: 0, uniform: 1, normal: 2 } as const;

export interface InitializerOptions {
  readonly initializer: Initializer;
  /** Name of the table or dense parameter. */
  readonly name: string;
  /** The job's seed, an integer. */
  readonly seed: number;
  /** Shape of the dense parameter; [1, width] for a table. */
  readonly shape: readonly number[];
}

/** Philox's key of what is drawn under a name in a job: mix64(FNV-1a-64(name) XOR mix64(seed)). */
export const randomKey = (name: string, seed: number): bigint =>
  mix64(fnv1a64(name) ^ mix64(BigInt.asUintN(64, BigInt(seed))));

/**
 * First values depend on (seed, name, position) only: the key is that of the name, the counters are described in
 * `kernels/assembly/initializer.ts`. Uniform values are low + u × (high − low) in f32 with u a
 * multiple of 2^-24 in [0, 1); rounding may give `high` itself.
 */
export function kernelInitializer({ initializer, name, seed, shape }: InitializerOptions): KernelInitializer {
  const key = randomKey(name, seed);
  switch (initializer.type) {
    case 'zeros':
      return { kind: KIND.constant, a: 0, b: 0, key };
    case 'constant':
      return { kind: KIND.constant, a: initializer.value, b: 0, key };
    case 'uniform':
      return { kind: KIND.uniform, a: initializer.low, b: initializer.high - initializer.low, key };
    case 'normal':
      return { kind: KIND.normal, a: initializer.mean, b: initializer.stddev, key };
    case 'xavier': {
      const bound = xavierBound(shape);
      return { kind: KIND.uniform, a: -bound, b: 2 * bound, key };
    }
  }
}

/** √(6 / (fanIn + fanOut)), the fans being the last two dimensions; dimensions that are missing count as 1. */
export function xavierBound(shape: readonly number[]): number {
  const fanOut = shape.at(-1) ?? 1;
  const fanIn = shape.at(-2) ?? 1;
  return Math.sqrt(6 / (fanIn + fanOut));
}
