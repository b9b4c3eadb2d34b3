/** An optimizer as the kernels take it: a descriptor in their memory, one for each table and dense parameter. */
import { type KernelHeap, outOfMemory } from './kernel-heap.ts';
import type { OptimizerExports } from './kernels/exports.ts';
import { type OptimizerLayout, type OptimizerSpec, optimizerLayout } from './optimizer.ts';

export interface KernelOptimizer {
  readonly address: number;
  readonly layout: OptimizerLayout;
}

/** Lives as long as the memory. Throws `OutOfMemory`. */
export function createOptimizer(heap: KernelHeap, spec: OptimizerSpec): KernelOptimizer {
  const address = create(heap.kernels, spec) >>> 0;
  if (address === 0) throw outOfMemory('the settings of an optimizer', heap.reservedBytes);
  return { address, layout: optimizerLayout(spec) };
}

/** For rows without values: counts their updates. Throws `OutOfMemory`. */
export function createCounter(heap: KernelHeap): KernelOptimizer {
  const address = heap.kernels.createCounter() >>> 0;
  if (address === 0) throw outOfMemory('a counter', heap.reservedBytes);
  return { address, layout: { slots: [], steps: true } };
}

function create(kernels: OptimizerExports, spec: OptimizerSpec): number {
  switch (spec.type) {
    case 'sgd':
      return kernels.createSgd(spec.learningRate, spec.l2);
    case 'momentum':
      return kernels.createMomentum(spec.learningRate, spec.momentum, spec.l2);
    case 'adagrad':
      return kernels.createAdagrad(spec.learningRate, spec.initialAccumulator, spec.epsilon, spec.l2);
    case 'adam':
      return kernels.createAdam(spec.learningRate, spec.beta1, spec.beta2, spec.epsilon, spec.l2);
    case 'adamw':
      return kernels.createAdamw(spec.learningRate, spec.beta1, spec.beta2, spec.epsilon, spec.weightDecay);
    case 'ftrl':
      return kernels.createFtrl(spec.alpha, spec.beta, spec.lambda1, spec.lambda2);
  }
}
