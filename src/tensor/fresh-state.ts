/**
 * The optimizer state of values that were never updated, as the kernels start it (assembly/optimizer.ts, `startSlots`):
 * for values that come from elsewhere without their state.
 */
import type { OptimizerSpec } from './optimizer.ts';

export interface FreshState {
  readonly slots: Readonly<Record<string, Float32Array>>;
  /** Updates so far, where the optimizer counts them. */
  readonly step: 0 | undefined;
}

const f = Math.fround;

export function freshState(optimizer: OptimizerSpec, values: Float32Array): FreshState {
  const zeros = (): Float32Array => new Float32Array(values.length);
  switch (optimizer.type) {
    case 'sgd':
      return { slots: {}, step: undefined };
    case 'momentum':
      return { slots: { velocity: zeros() }, step: undefined };
    case 'adagrad':
      return { slots: { accumulator: zeros().fill(optimizer.initialAccumulator) }, step: undefined };
    case 'adam':
    case 'adamw':
      return { slots: { m: zeros(), v: zeros() }, step: 0 };
    case 'ftrl': {
      // FTRL derives the value from z: the z that gives this value, in the kernels' order of f32 operations.
      const lambda1 = f(optimizer.lambda1);
      const scale = f(f(f(optimizer.beta) * f(1 / optimizer.alpha)) + f(optimizer.lambda2));
      const z = values.map((value) => {
        if (value === 0) return 0;
        return -f(f(value * scale) + (value < 0 ? -lambda1 : lambda1));
      });
      return { slots: { z, n: zeros() }, step: undefined };
    }
  }
}
