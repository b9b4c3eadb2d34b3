/**
 * Field-aware factorization machine (Juan et al., Field-aware Factorization Machines for CTR Prediction, RecSys 2016,
 * eq. 4; with a bias and a linear part, as xLearn has them):
 *   z = b + Σ_i w_i x_i + Σ_{i<j} ⟨v_i[field of j], v_j[field of i]⟩ x_i x_j
 * An id that is twice in a record counts as two features. A feature of a field that no training record has is in no
 * pair. L2 is the optimizer's. The arithmetic is that of src/tensor/kernels/assembly/field-aware-machine.ts.
 */
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { ArrayMemory } from '../tensor/array-memory.ts';
import type { Model } from './model.ts';
import type { OutputTask } from './sparse-loss.ts';
import { type SparseKernel, SparseSteps } from './sparse-step.ts';

export interface FfmOptions {
  readonly task: OutputTask;
  /** Width of the vector that a feature has for each field. */
  readonly factors: number;
  /** Vectors start uniform from 0 to this, divided by √factors. */
  readonly initScale: number;
  /** Whether the values of each record are divided by their L2 norm. */
  readonly normalize: boolean;
}

export const FFM_DEFAULTS: FfmOptions = { task: 'binary', factors: 4, initScale: 1, normalize: true };

/** Throws `DataInvalid` when rows would be too wide. */
export function createFieldAwareMachine(
  { fields }: { readonly fields: number },
  options: Partial<FfmOptions> = {},
): Model {
  const { task, factors, initScale, normalize } = { ...FFM_DEFAULTS, ...options };
  const width = widthOf(fields, factors);
  const memory = new ArrayMemory();
  const run: SparseKernel = (kernels, { records, count }, bias, at) => {
    const { offsets, rows, values, labels, weights, scores, sums, scratch } = at;
    const [w, v, gradientW, gradientV] = [at.tables[0]!, at.tables[1]!, at.gradients[0]!, at.gradients[1]!];
    const isBinary = task === 'binary';
    kernels.stepFields(
      records,
      offsets,
      rows,
      values,
      at.fields,
      labels,
      weights,
      count,
      isBinary,
      normalize,
      bias,
      w,
      v,
      fields,
      factors,
      scratch,
      gradientW,
      gradientV,
      scores,
      sums,
    );
  };
  const scratchBytes = (features: number): number => 4 * features;
  const steps = new SparseSteps({ memory, widths: [1, width], scratchBytes, readsFields: true, run });
  return {
    type: 'ffm',
    input: 'sparse',
    readsFields: true,
    task,
    parameters: parametersOf(width, initScale / Math.sqrt(factors)),
    lookups: [0, 0],
    memory,
    step: (batch, values) => steps.step(batch, values),
    evaluate: (batch, values) => steps.evaluate(batch, values),
  };
}

function widthOf(fields: number, factors: number): number {
  const width = fields * factors;
  if (width >= 1 && width <= LIMITS.rowWidth) return width;
  const message = `expected 1 to ${LIMITS.rowWidth} floats per row for ffm, got ${width}: ${fields} fields × ${factors} factors`;
  throw new PaddletError('DataInvalid', message, {
    hint:
      fields === 0
        ? 'check that the records have features'
        : 'number the fields from 0 without gaps, or lower model.factors',
  });
}

const parametersOf = (width: number, high: number): Model['parameters'] => ({
  dense: [{ name: 'bias', shape: [1], initializer: { type: 'zeros' } }],
  sparse: [
    { name: 'w', width: 1, initializer: { type: 'zeros' } },
    { name: 'v', width, initializer: { type: 'uniform', low: 0, high } },
  ],
});
