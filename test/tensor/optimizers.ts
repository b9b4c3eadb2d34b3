/** Optimizers to test with, and generators of them. */

import type { OptimizerSpec } from '../../src/tensor/optimizer.ts';
import * as fc from '../properties.ts';

export const OPTIMIZERS: readonly OptimizerSpec[] = [
  { type: 'sgd', learningRate: 0.1, l2: 0 },
  { type: 'sgd', learningRate: 0.05, l2: 0.01 },
  { type: 'momentum', learningRate: 0.1, momentum: 0.9, l2: 0.001 },
  { type: 'adagrad', learningRate: 0.1, initialAccumulator: 0.1, epsilon: 1e-8, l2: 0.001 },
  { type: 'adam', learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0.001 },
  { type: 'adamw', learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.1 },
  { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.2, lambda2: 0.3 },
];

const between = (min: number, max: number): fc.Arbitrary<number> => fc.double({ min, max, noNaN: true });
const rate = between(0, 2);
const l2 = between(0, 0.5);
const decay = between(0, 0.9999);
const epsilon = between(1e-10, 0.1);

export const anyOptimizer: fc.Arbitrary<OptimizerSpec> = fc.oneof(
  fc.record({ type: fc.constant('sgd' as const), learningRate: rate, l2 }),
  fc.record({ type: fc.constant('momentum' as const), learningRate: rate, momentum: decay, l2 }),
  fc.record({
    type: fc.constant('adagrad' as const),
    learningRate: rate,
    initialAccumulator: between(0, 1),
    epsilon,
    l2,
  }),
  fc.record({ type: fc.constant('adam' as const), learningRate: rate, beta1: decay, beta2: decay, epsilon, l2 }),
  fc.record({
    type: fc.constant('adamw' as const),
    learningRate: rate,
    beta1: decay,
    beta2: decay,
    epsilon,
    weightDecay: between(0, 0.5),
  }),
  fc.record({
    type: fc.constant('ftrl' as const),
    alpha: between(0.001, 2),
    beta: between(0, 2),
    lambda1: between(0, 1),
    lambda2: between(0, 1),
  }),
);

/** Finite f32 of the sizes that gradients and values have, zeros of both signs among them. */
export const anyFloat: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.float({ min: -10, max: 10, noNaN: true }) },
  { weight: 2, arbitrary: fc.constantFrom(0, -0, 1, -1) },
  { weight: 1, arbitrary: fc.float({ min: Math.fround(-1e-30), max: Math.fround(1e-30), noNaN: true }) },
);

export const anyFloats = (count: number): fc.Arbitrary<Float32Array> =>
  fc.array(anyFloat, { minLength: count, maxLength: count }).map((floats) => Float32Array.from(floats));
