/**
 * Logistic regression on sparse features (task `binary`), or linear regression (`regression`): z = b + Σ w_i x_i.
 * L2 is the optimizer's.
 */
import { meanGradient, sparseBatch } from './batch-shape.ts';
import type { Batch, Model, PulledValues, SparseBatch, StepResult } from './model.ts';
import { OutputLoss, type OutputTask } from './sparse-loss.ts';

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
  // Kept between batches, so that a step allocates only what it returns.
  let sums = new Float64Array(0);

  function step(batch: Batch, values: PulledValues): StepResult {
    const data = sparseBatch(batch, values, [1]);
    const { offsets, columns, values: x, labels, records, distinct } = data;
    const w = values.sparse[0]!;
    const bias = values.dense[0]![0]!;
    if (sums.length < distinct) sums = new Float64Array(distinct * 2);
    sums.fill(0, 0, distinct);
    let biasSum = 0;
    const loss = new OutputLoss(task);
    for (let record = 0; record < records; record++) {
      const from = offsets[record]!;
      const to = offsets[record + 1]!;
      let z = bias;
      for (let at = from; at < to; at++) z += w[columns[at]!]! * x[at]!;
      const slope = loss.add(z, labels[record]!);
      for (let at = from; at < to; at++) {
        const column = columns[at]!;
        sums[column] = sums[column]! + slope * x[at]!;
      }
      biasSum += slope;
    }
    return {
      dense: [Float32Array.of(records === 0 ? 0 : biasSum / records)],
      sparse: [meanGradient(sums, distinct, records)],
      metrics: loss.sums(),
    };
  }

  function evaluate(batch: Batch, values: PulledValues): ReturnType<Model['evaluate']> {
    const data: SparseBatch = sparseBatch(batch, values, [1]);
    const { offsets, columns, values: x, labels, records } = data;
    const w = values.sparse[0]!;
    const bias = values.dense[0]![0]!;
    const scores = new Float32Array(records);
    const loss = new OutputLoss(task);
    for (let record = 0; record < records; record++) {
      const to = offsets[record + 1]!;
      let z = bias;
      for (let at = offsets[record]!; at < to; at++) z += w[columns[at]!]! * x[at]!;
      loss.add(z, labels[record]!);
      scores[record] = loss.score;
    }
    return { metrics: loss.sums(), scores };
  }

  return { type: 'lr', input: 'sparse', task, parameters: PARAMETERS, step, evaluate };
}
