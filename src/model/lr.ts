/**
 * Logistic regression on sparse features (task `binary`), or linear regression (`regression`): z = b + Σ w_i x_i.
 * L2 is the optimizer's. The arithmetic is that of src/tensor/kernels/assembly/linear-model.ts.
 */
import { ArrayMemory } from '../tensor/array-memory.ts';
import type { Model } from './model.ts';
import type { OutputTask } from './sparse-loss.ts';
import { type SparseKernel, SparseSteps } from './sparse-step.ts';

export interface LrOptions {
  readonly task: OutputTask;
}

export const LR_DEFAULTS: LrOptions = { task: 'binary' };

const PARAMETERS: Model['parameters'] = {
  dense: [{ name: 'bias', shape: [1], initializer: { type: 'zeros' } }],
  sparse: [{ name: 'w', width: 1, initializer: { type: 'zeros' } }],
};

export function createLinear(options: Partial<LrOptions> = {}): Model {
  const task = options.task ?? LR_DEFAULTS.task;
  const memory = new ArrayMemory();
  const run: SparseKernel = (kernels, { records, count }, bias, at) => {
    const { offsets, rows, values, labels, weights, scores, sums } = at;
    const [w, gradient] = [at.tables[0]!, at.gradients[0]!];
    const isBinary = task === 'binary';
    kernels.stepLinear(
      records,
      offsets,
      rows,
      values,
      labels,
      weights,
      count,
      isBinary,
      bias,
      w,
      gradient,
      scores,
      sums,
    );
  };
  const steps = new SparseSteps({ memory, widths: [1], scratchBytes: () => 0, run });
  return {
    type: 'lr',
    input: 'sparse',
    task,
    parameters: PARAMETERS,
    lookups: [0],
    memory,
    step: (batch, values) => steps.step(batch, values),
    evaluate: (batch, values) => steps.evaluate(batch, values),
  };
}
