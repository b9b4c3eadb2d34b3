/**
 * Factorization machine of degree two (Rendle, Factorization Machines, ICDM 2010, eq. 1 and lemma 3.1):
 *   z = b + Σ_i w_i x_i + ½ Σ_f [(Σ_i v_if x_i)² − Σ_i v_if² x_i²]
 *   ∂z/∂v_if = x_i (s_f − v_if x_i)  with  s_f = Σ_j v_jf x_j     (eq. 4)
 * An id that is twice in a record counts as two features. L2 is the optimizer's.
 */
import { meanGradient, sparseBatch } from './batch-shape.ts';
import type { Batch, Model, PulledValues, SparseBatch, StepResult } from './model.ts';
import { OutputLoss, type OutputTask } from './sparse-loss.ts';

export interface FmOptions {
  readonly task: OutputTask;
  /** Width of a feature's vector. */
  readonly factors: number;
  /** Vectors start normal with mean 0 and this deviation: from all zeros they would never change. */
  readonly initStddev: number;
}

export const FM_DEFAULTS: FmOptions = { task: 'binary', factors: 8, initStddev: 0.01 };

/**
 * The sums of one model, kept between batches, so that a step allocates only what it returns. Closures: the engine
 * knows captured arrays by their identity, which makes the inner loops a tenth faster than a class does.
 */
function createSums(factors: number) {
  /** s_f of the record whose output was computed last. */
  const totals = new Float64Array(factors);
  let weightSums = new Float64Array(0);
  let factorSums = new Float64Array(0);

  /** z of a record; keeps its s_f. */
  function output(data: SparseBatch, values: PulledValues, record: number): number {
    const { offsets, columns, values: x } = data;
    const w = values.sparse[0]!;
    const v = values.sparse[1]!;
    const from = offsets[record]!;
    const to = offsets[record + 1]!;
    let z = values.dense[0]![0]!;
    let squares = 0;
    totals.fill(0);
    for (let at = from; at < to; at++) {
      const column = columns[at]!;
      const value = x[at]!;
      z += w[column]! * value;
      const row = column * factors;
      for (let f = 0; f < factors; f++) {
        const product = v[row + f]! * value;
        totals[f] = totals[f]! + product;
        squares += product * product;
      }
    }
    let pairs = -squares;
    for (let f = 0; f < factors; f++) pairs += totals[f]! * totals[f]!;
    return z + 0.5 * pairs;
  }

  /** Sets the sums of the first `distinct` rows to zero. */
  function start(distinct: number): void {
    if (weightSums.length < distinct) {
      weightSums = new Float64Array(distinct * 2);
      factorSums = new Float64Array(distinct * 2 * factors);
    }
    weightSums.fill(0, 0, distinct);
    factorSums.fill(0, 0, distinct * factors);
  }

  /** Adds slope × ∂z/∂(w, v) of the record whose output was computed last. */
  function addGradient(data: SparseBatch, v: Float32Array, record: number, slope: number): void {
    const { offsets, columns, values: x } = data;
    const to = offsets[record + 1]!;
    for (let at = offsets[record]!; at < to; at++) {
      const column = columns[at]!;
      const value = x[at]!;
      const scaled = slope * value;
      weightSums[column] = weightSums[column]! + scaled;
      const row = column * factors;
      for (let f = 0; f < factors; f++) {
        factorSums[row + f] = factorSums[row + f]! + scaled * (totals[f]! - v[row + f]! * value);
      }
    }
  }

  /** Of w and v, [distinct, 1] and [distinct, factors]. */
  const means = ({ distinct, records }: SparseBatch): Float32Array[] => [
    meanGradient(weightSums, distinct, records),
    meanGradient(factorSums, distinct * factors, records),
  ];

  return { output, start, addGradient, means };
}

export function createFactorizationMachine(options: Partial<FmOptions> = {}): Model {
  const { task, factors, initStddev } = { ...FM_DEFAULTS, ...options };
  const widths = [1, factors];
  const sums = createSums(factors);

  function step(batch: Batch, values: PulledValues): StepResult {
    const data = sparseBatch(batch, values, widths);
    const { records, labels } = data;
    sums.start(data.distinct);
    let biasSum = 0;
    const loss = new OutputLoss(task);
    for (let record = 0; record < records; record++) {
      const slope = loss.add(sums.output(data, values, record), labels[record]!);
      sums.addGradient(data, values.sparse[1]!, record, slope);
      biasSum += slope;
    }
    const bias = Float32Array.of(records === 0 ? 0 : biasSum / records);
    return { dense: [bias], sparse: sums.means(data), metrics: loss.sums() };
  }

  function evaluate(batch: Batch, values: PulledValues): ReturnType<Model['evaluate']> {
    const data = sparseBatch(batch, values, widths);
    const scores = new Float32Array(data.records);
    const loss = new OutputLoss(task);
    for (let record = 0; record < data.records; record++) {
      loss.add(sums.output(data, values, record), data.labels[record]!);
      scores[record] = loss.score;
    }
    return { metrics: loss.sums(), scores };
  }

  return { type: 'fm', input: 'sparse', task, parameters: parametersOf(factors, initStddev), step, evaluate };
}

const parametersOf = (factors: number, initStddev: number): Model['parameters'] => ({
  dense: [{ name: 'bias', shape: [1], initializer: { type: 'zeros' } }],
  sparse: [
    { name: 'w', width: 1, initializer: { type: 'zeros' } },
    { name: 'v', width: factors, initializer: { type: 'normal', mean: 0, stddev: initStddev } },
  ],
});
