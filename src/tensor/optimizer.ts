/** The optimizer of a job, as the kernels take it, and the state it keeps beside each value. */
import type { OptimizerExports } from './kernels/exports.ts';
import type { OptimizerSpec } from './spec.ts';

export interface OptimizerLayout {
  /** Slots in the order in which they follow the values in memory, each as long as the values. */
  readonly slots: readonly string[];
  /** Whether each row and block counts its updates. */
  readonly steps: boolean;
}

const LAYOUTS: Readonly<Record<OptimizerSpec['type'], OptimizerLayout>> = {
  sgd: { slots: [], steps: false },
  momentum: { slots: ['velocity'], steps: false },
  adagrad: { slots: ['accumulator'], steps: false },
  adam: { slots: ['m', 'v'], steps: true },
  adamw: { slots: ['m', 'v'], steps: true },
  ftrl: { slots: ['z', 'n'], steps: false },
};

export const optimizerLayout = (optimizer: OptimizerSpec): OptimizerLayout => LAYOUTS[optimizer.type];

/** Makes the instance's kernels use this optimizer. */
export function useOptimizer(kernels: OptimizerExports, optimizer: OptimizerSpec): void {
  switch (optimizer.type) {
    case 'sgd':
      kernels.useSgd(optimizer.learningRate, optimizer.l2);
      return;
    case 'momentum':
      kernels.useMomentum(optimizer.learningRate, optimizer.momentum, optimizer.l2);
      return;
    case 'adagrad':
      kernels.useAdagrad(optimizer.learningRate, optimizer.initialAccumulator, optimizer.epsilon, optimizer.l2);
      return;
    case 'adam':
      kernels.useAdam(optimizer.learningRate, optimizer.beta1, optimizer.beta2, optimizer.epsilon, optimizer.l2);
      return;
    case 'adamw':
      kernels.useAdamw(
        optimizer.learningRate,
        optimizer.beta1,
        optimizer.beta2,
        optimizer.epsilon,
        optimizer.weightDecay,
      );
      return;
    case 'ftrl':
      kernels.useFtrl(optimizer.alpha, optimizer.beta, optimizer.lambda1, optimizer.lambda2);
      return;
  }
}
