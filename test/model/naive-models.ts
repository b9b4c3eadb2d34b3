/**
 * The models' loss as their formulas are written, in f64 with JavaScript's own functions: what the fast ones are
 * checked against.
 */
import type { DenseRecords, SparseRecords } from './batches.ts';

/** Values in f64, so that differences of the loss can be taken. */
export interface NaiveValues {
  readonly dense: readonly (readonly number[])[];
  readonly sparse: readonly (readonly number[])[];
}

export type NaiveOutput = (batch: SparseRecords, values: NaiveValues, record: number) => number;

const featuresOf = (batch: SparseRecords, record: number): { row: number; x: number; field: number }[] =>
  Array.from(batch.rows.subarray(batch.offsets[record], batch.offsets[record + 1]), (row, at) => ({
    row,
    x: batch.values?.[batch.offsets[record]! + at] ?? 1,
    field: batch.fields?.[batch.offsets[record]! + at] ?? 0,
  }));

export const naiveLinear: NaiveOutput = (batch, { dense, sparse }, record) =>
  featuresOf(batch, record).reduce((sum, { row, x }) => sum + sparse[0]![row]! * x, dense[0]![0]!);

/** Rendle 2010, eq. 1: a sum over all pairs. */
export const naiveFm =
  (factors: number): NaiveOutput =>
  (batch, values, record) => {
    const v = values.sparse[1]!;
    const features = featuresOf(batch, record);
    let z = naiveLinear(batch, values, record);
    features.forEach((a, i) => {
      for (const b of features.slice(i + 1)) {
        for (let f = 0; f < factors; f++) z += v[a.row * factors + f]! * v[b.row * factors + f]! * a.x * b.x;
      }
    });
    return z;
  };

/** Juan et al. 2016, eq. 4, with a bias and a linear part: a sum over all pairs of known fields. */
export const naiveFfm =
  (factors: number, fields: number, normalize = true): NaiveOutput =>
  (batch, { dense, sparse }, record) => {
    const [w, v] = sparse as [readonly number[], readonly number[]];
    const features = featuresOf(batch, record);
    const norm = normalize ? Math.hypot(...features.map(({ x }) => x)) || 1 : 1;
    let z = dense[0]![0]!;
    features.forEach((a, i) => {
      z += (w[a.row]! * a.x) / norm;
      for (const b of features.slice(i + 1)) {
        if (a.field >= fields || b.field >= fields) continue;
        for (let f = 0; f < factors; f++) {
          const [ofA, ofB] = [a.row * fields + b.field, b.row * fields + a.field];
          z += v[ofA * factors + f]! * v[ofB * factors + f]! * (a.x / norm) * (b.x / norm);
        }
      }
    });
    return z;
  };

const clip = (p: number): number => Math.min(Math.max(p, 1e-15), 1 - 1e-15);

export function naiveSparseLoss(
  output: NaiveOutput,
  task: 'binary' | 'regression',
  batch: SparseRecords,
  values: NaiveValues,
): { mean: number; scores: number[] } {
  let sum = 0;
  const scores: number[] = [];
  for (let record = 0; record < batch.records; record++) {
    const z = output(batch, values, record);
    const y = batch.labels[record]!;
    const score = task === 'binary' ? 1 / (1 + Math.exp(-z)) : z;
    scores.push(score);
    const p = clip(score);
    sum += task === 'binary' ? -(y * Math.log(p) + (1 - y) * Math.log(1 - p)) : (z - y) ** 2 / 2;
  }
  return { mean: sum / batch.records, scores };
}

export function naiveSoftmaxLoss(
  batch: DenseRecords,
  classes: number,
  { dense }: NaiveValues,
): { mean: number; scores: number[]; correct: number } {
  const [weights = [], bias = []] = dense;
  const scores: number[] = [];
  let sum = 0;
  let correct = 0;
  for (let record = 0; record < batch.records; record++) {
    const logits = Array.from({ length: classes }, (_, c) => {
      let z = bias[c]!;
      for (let i = 0; i < batch.width; i++) z += batch.values[record * batch.width + i]! * weights[i * classes + c]!;
      return z;
    });
    const total = logits.reduce((all, z) => all + Math.exp(z), 0);
    const label = batch.labels[record]!;
    const p = Math.exp(logits[label]!) / total;
    scores.push(p);
    sum -= Math.log(clip(p));
    if (logits.every((z) => z <= logits[label]!)) correct++;
  }
  return { mean: sum / batch.records, scores, correct };
}

/** ∂loss/∂value by central differences, for each value. */
export function numericGradient(values: NaiveValues, loss: (values: NaiveValues) => number): NaiveValues {
  const step = 1e-5;
  const gradientOf = (part: 'dense' | 'sparse'): number[][] =>
    values[part].map((array, at) =>
      array.map((value, i) => {
        const moved = (by: number): NaiveValues => ({
          ...values,
          [part]: values[part].with(at, array.with(i, value + by)),
        });
        return (loss(moved(step)) - loss(moved(-step))) / (2 * step);
      }),
    );
  return { dense: gradientOf('dense'), sparse: gradientOf('sparse') };
}
