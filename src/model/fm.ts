/**
 * Factorization machine of degree two (Rendle, Factorization Machines, ICDM 2010, eq. 1 and lemma 3.1):
 *   z = b + Σ_i w_i x_i + ½ Σ_f [(Σ_i v_if x_i)² − Σ_i v_if² x_i²]
 *   ∂z/∂v_if = x_i (s_f − v_if x_i)  with  s_f = Σ_j v_jf x_j     (eq. 4)
 * An id that is twice in a record counts as two features. L2 is the optimizer's. The arithmetic is that of
 * src/tensor/kernels/assembly/factorization-machine.ts.
 */
import { ArrayMemory } from '../tensor/array-memory.ts';
import type { Model } from './model.ts';
import type { OutputTask } from './sparse-loss.ts';
import { type SparseKernel, SparseSteps } from './sparse-step.ts';

export interface FmOptions {
  readonly task: OutputTask;
  /** Width of a feature's vector. */
  readonly factors: number;
  /** Vectors start normal with mean 0 and this deviation: from all zeros they would never change. */
  readonly initStddev: number;
}

export const FM_DEFAULTS: FmOptions = { task: 'binary', factors: 8, initStddev: 0.01 };

export function createFactorizationMachine(options: Partial<FmOptions> = {}): Model {
  const { task, factors, initStddev } = { ...FM_DEFAULTS, ...options };
  const memory = new ArrayMemory();
  const run: SparseKernel = (kernels, { records, count }, bias, at) => {
    const { offsets, rows, values, labels, weights, scores, sums, scratch } = at;
    const [w, v, gradientW, gradientV] = [at.tables[0]!, at.tables[1]!, at.gradients[0]!, at.gradients[1]!];
    const isBinary = task === 'binary';
    kernels.stepFactors(
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
      v,
      factors,
      scratch,
      gradientW,
      gradientV,
      scores,
      sums,
    );
  };
  const steps = new SparseSteps({ memory, widths: [1, factors], scratchBytes: () => 4 * factors, run });
  return {
    type: 'fm',
    input: 'sparse',
    task,
    parameters: parametersOf(factors, initStddev),
    lookups: [0, 0],
    memory,
    step: (batch, values) => steps.step(batch, values),
    evaluate: (batch, values) => steps.evaluate(batch, values),
  };
}

const parametersOf = (factors: number, initStddev: number): Model['parameters'] => ({
  dense: [{ name: 'bias', shape: [1], initializer: { type: 'zeros' } }],
  sparse: [
    { name: 'w', width: 1, initializer: { type: 'zeros' } },
    { name: 'v', width: factors, initializer: { type: 'normal', mean: 0, stddev: initStddev } },
  ],
});
