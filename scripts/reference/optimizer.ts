/** The optimizers as their papers write them, one number at a time. */
import type { OptimizerSpec } from '../../src/tensor/optimizer.ts';

export interface ReferenceOptimizer {
  /** State of a row or parameter of so many numbers. */
  state(length: number): unknown;
  update(values: Float32Array, gradient: Float32Array, state: unknown): void;
}

interface Moments {
  readonly m: Float32Array;
  readonly v: Float32Array;
  step: number;
}

export function createReferenceOptimizer(spec: OptimizerSpec): ReferenceOptimizer {
  switch (spec.type) {
    case 'sgd':
      return {
        state: () => undefined,
        update: (values, gradient) => {
          for (let i = 0; i < values.length; i++) {
            const g = gradient[i]! + spec.l2 * values[i]!;
            values[i] = values[i]! - spec.learningRate * g;
          }
        },
      };
    case 'adagrad':
      return adagrad(spec);
    case 'adam':
      return adam(spec);
    case 'ftrl':
      return ftrl(spec);
    default:
      throw new Error(`the reference loop has no ${spec.type}`);
  }
}

/** Duchi, Hazan & Singer 2011. */
function adagrad(spec: Extract<OptimizerSpec, { type: 'adagrad' }>): ReferenceOptimizer {
  const { learningRate, initialAccumulator = 0.1, epsilon = 1e-7, l2 = 0 } = spec;
  return {
    state: (length) => new Float32Array(length).fill(initialAccumulator),
    update: (values, gradient, state) => {
      const sums = state as Float32Array;
      for (let i = 0; i < values.length; i++) {
        const g = gradient[i]! + l2 * values[i]!;
        sums[i] = sums[i]! + g * g;
        values[i] = values[i]! - (learningRate * g) / (Math.sqrt(sums[i]!) + epsilon);
      }
    },
  };
}

/** Kingma & Ba 2015, algorithm 1; a row's steps are those that touched it. */
function adam(spec: Extract<OptimizerSpec, { type: 'adam' }>): ReferenceOptimizer {
  const { learningRate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, l2 = 0 } = spec;
  return {
    state: (length): Moments => ({ m: new Float32Array(length), v: new Float32Array(length), step: 0 }),
    update: (values, gradient, state) => {
      const moments = state as Moments;
      const { m, v } = moments;
      const step = ++moments.step;
      const corrected = (learningRate * Math.sqrt(1 - beta2 ** step)) / (1 - beta1 ** step);
      for (let i = 0; i < values.length; i++) {
        const g = gradient[i]! + l2 * values[i]!;
        m[i] = beta1 * m[i]! + (1 - beta1) * g;
        v[i] = beta2 * v[i]! + (1 - beta2) * g * g;
        values[i] = values[i]! - (corrected * m[i]!) / (Math.sqrt(v[i]!) + epsilon);
      }
    },
  };
}

/** McMahan et al., Ad Click Prediction, KDD 2013, algorithm 1. */
function ftrl(spec: Extract<OptimizerSpec, { type: 'ftrl' }>): ReferenceOptimizer {
  const { alpha, beta, lambda1, lambda2 } = spec;
  return {
    state: (length) => ({ z: new Float32Array(length), n: new Float32Array(length) }),
    update: (values, gradient, state) => {
      const { z, n } = state as { z: Float32Array; n: Float32Array };
      for (let i = 0; i < values.length; i++) {
        const g = gradient[i]!;
        const sigma = (Math.sqrt(n[i]! + g * g) - Math.sqrt(n[i]!)) / alpha;
        z[i] = z[i]! + g - sigma * values[i]!;
        n[i] = n[i]! + g * g;
        const over = Math.abs(z[i]!) - lambda1;
        values[i] = over <= 0 ? 0 : (-Math.sign(z[i]!) * over) / ((beta + Math.sqrt(n[i]!)) / alpha + lambda2);
      }
    },
  };
}
