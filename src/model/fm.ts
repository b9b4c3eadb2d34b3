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
  /** Vectors start normal with mean 0 and this deviation: all zeros would never move. */
  readonly initStddev: number;
}

export const FM_DEFAULTS: FmOptions = { task: 'binary', factors: 8, initStddev: 0.01 };

/** The sums of one model, kept between batches, so that a step allocates only what it returns. */
class FactorSums {
  readonly #factors: number;
  /** s_f of the record last put out. */
  readonly #totals: Float64Array;
  #weightSums = new Float64Array(0);
  #factorSums = new Float64Array(0);

  constructor(factors: number) {
    this.#factors = factors;
    this.#totals = new Float64Array(factors);
  }

  /** z of a record; keeps its s_f. */
  output(data: SparseBatch, values: PulledValues, record: number): number {
    const { offsets, columns, values: x } = data;
    const factors = this.#factors;
    const totals = this.#totals;
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
  start(distinct: number): void {
    if (this.#weightSums.length < distinct) {
      this.#weightSums = new Float64Array(distinct * 2);
      this.#factorSums = new Float64Array(distinct * 2 * this.#factors);
    }
    this.#weightSums.fill(0, 0, distinct);
    this.#factorSums.fill(0, 0, distinct * this.#factors);
  }

  /** Adds slope × ∂z/∂(w, v) of the record whose output was computed last. */
  addGradient(data: SparseBatch, v: Float32Array, record: number, slope: number): void {
    const { offsets, columns, values: x } = data;
    const factors = this.#factors;
    const totals = this.#totals;
    const weightSums = this.#weightSums;
    const factorSums = this.#factorSums;
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
  means({ distinct, records }: SparseBatch): Float32Array[] {
    return [
      meanGradient(this.#weightSums, distinct, records),
      meanGradient(this.#factorSums, distinct * this.#factors, records),
    ];
  }
}

export function createFactorizationMachine(options: Partial<FmOptions> = {}): Model {
  const { task, factors, initStddev } = { ...FM_DEFAULTS, ...options };
  const widths = [1, factors];
  const sums = new FactorSums(factors);

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
