/**
 * The models in plain form: one record, one feature, one float at a time, rounded to f32 where the kernels round
 * (docs/decisions/0119-model-kernels.md has the order of all sums). The kernels must give the same bits.
 */
import { deepFmLayers } from '../../src/model/deepfm.ts';
import type { LayerSpec } from '../../src/model/layers/specs.ts';
import { mlpLayers } from '../../src/model/mlp.ts';
import type { Batch, DenseInput, Model, PulledValues, SparseInput } from '../../src/model/model.ts';
import { createModel, type ModelFacts, type ModelSpec } from '../../src/model/registry.ts';
import { wideDeepLayers } from '../../src/model/wide-deep.ts';
import { kept } from '../tensor/reference.ts';
import { floatsOf } from './batches.ts';
import { plainNetwork } from './layers/plain-network.ts';
import { addClasses, addOutput, noSums, type Outcome } from './plain-losses.ts';

const f = Math.fround;

/** The model as the registry makes it, but computed here. */
export function referenceModel(spec: ModelSpec, facts: ModelFacts): Model {
  const { memory: _, ...model } = createModel(spec, facts);
  const layers = layersOf(spec, facts);
  if (layers !== undefined) return plainNetwork(model, layers, facts.seed);
  const run = spec.type === 'softmax' ? runSoftmax : spec.type === 'ffm' ? fieldAware(spec, facts) : runSparse;
  return {
    ...model,
    step(batch, values) {
      const { dense, sparse, metrics } = run(model, batch, values);
      return { dense, sparse, metrics };
    },
    evaluate(batch, values) {
      const { scores, metrics } = run(model, batch, values);
      return { scores, metrics };
    },
  };
}

function layersOf(spec: ModelSpec, { columns = [] }: ModelFacts): readonly LayerSpec[] | undefined {
  switch (spec.type) {
    case 'mlp':
      return mlpLayers(spec);
    case 'wide_deep':
      return wideDeepLayers(columns, spec);
    case 'deepfm':
      return deepFmLayers(columns, spec);
    case 'layers':
      return spec.layers;
    default:
      return undefined;
  }
}

interface Feature {
  readonly row: number;
  readonly field: number;
  readonly x: number;
}

function featuresOf({ offsets, rows, values, fields }: SparseInput, record: number): Feature[] {
  const features: Feature[] = [];
  for (let at = offsets[record]!; at < offsets[record + 1]!; at++) {
    features.push({ row: rows[at]!, field: fields?.[at] ?? 0, x: values?.[at] ?? 1 });
  }
  return features;
}

/** (sum 0 + sum 1) + (sum 2 + sum 3). */
const folded = ([a, b, c, d]: number[], round: (x: number) => number): number => round(round(a! + b!) + round(c! + d!));

/** Σ w x in f64: the feature at place n goes to sum n mod 4. */
function weighed(features: readonly Feature[], w: Float32Array): number {
  const sums = [0, 0, 0, 0];
  features.forEach(({ row, x }, n) => {
    sums[n % 4]! += w[row]! * x;
  });
  return folded(sums, (sum) => sum);
}

/** s_f for each factor, and Σ_f (s_f² − q_f), in f32: factor f goes to sum f mod 4. */
function pairsOf(features: readonly Feature[], v: Float32Array, factors: number): { totals: number[]; pairs: number } {
  const sums = [0, 0, 0, 0];
  const totals = Array.from({ length: factors }, (_, factor) => {
    let s = 0;
    let q = 0;
    for (const { row, x } of features) {
      const product = f(v[row * factors + factor]! * x);
      s = f(s + product);
      q = f(q + f(product * product));
    }
    sums[factor % 4] = f(sums[factor % 4]! + f(f(s * s) - q));
    return s;
  });
  return { totals, pairs: folded(sums, f) };
}

function runSparse(model: Model, batch: Batch, values: PulledValues): Outcome {
  const { records, labels } = batch;
  const data = batch.sparse[0]!;
  const { count } = data;
  const [w, v] = values.sparse as [Float32Array, Float32Array?];
  const factors = model.parameters.sparse[1]?.width ?? 0;
  const sums = noSums(records);
  const gradientW = new Float32Array(count);
  const gradientV = new Float32Array(count * factors);
  let slopes = 0;
  const scores = Float32Array.from({ length: records }, (_, record) => {
    const features = featuresOf(data, record);
    const { totals, pairs } = v === undefined ? { totals: [], pairs: 0 } : pairsOf(features, v, factors);
    const linear = values.dense[0]![0]! + weighed(features, w);
    const z = v === undefined ? linear : linear + 0.5 * pairs;
    const weight = batch.weights?.[record] ?? 1;
    const score = addOutput(sums, model.task, z, labels[record]!, weight);
    slopes += weight * (score - labels[record]!);
    const slope = kept(f((weight * (score - labels[record]!)) / records));
    for (const { row, x } of features) gradientW[row]! += f(slope * x);
    for (const { row, x } of features) {
      totals.forEach((s, factor) => {
        const at = row * factors + factor;
        gradientV[at]! += f(f(slope * x) * f(s - f(v![at]! * x)));
      });
    }
    return score;
  });
  const bias = Float32Array.of(records === 0 ? 0 : slopes / records);
  return { dense: [bias], sparse: v === undefined ? [gradientW] : [gradientW, gradientV], metrics: sums, scores };
}

/** Each divided by the L2 norm of the record's values, in f64. */
function normalized(features: readonly Feature[]): Feature[] {
  const norm = Math.sqrt(features.reduce((sum, { x }) => sum + x * x, 0));
  return features.map((feature) => ({ ...feature, x: norm === 0 ? feature.x : f(feature.x / norm) }));
}

/** Pairs of features, both of fields that the model has, in the order of the first, then of the second. */
const pairedOf = (features: readonly Feature[], fields: number): [Feature, Feature][] =>
  features
    .flatMap((a, at) => features.slice(at + 1).map((b): [Feature, Feature] => [a, b]))
    .filter(([a, b]) => a.field < fields && b.field < fields);

const fieldAware =
  ({ factors = 4, normalize = true }: ModelSpec & { type: 'ffm' }, { fields }: ModelFacts) =>
  (model: Model, batch: Batch, values: PulledValues): Outcome => {
    const { records, labels } = batch;
    const data = batch.sparse[0]!;
    const [w, v] = values.sparse as [Float32Array, Float32Array];
    const whole = factors - (factors % 4);
    const sums = noSums(records);
    const gradientW = new Float32Array(w.length);
    const gradientV = new Float32Array(v.length);
    /** Where the vector of a feature for a field begins. */
    const vectorOf = ({ row }: Feature, field: number): number => (row * fields + field) * factors;
    let slopes = 0;
    const scores = Float32Array.from({ length: records }, (_, record) => {
      const plain = featuresOf(data, record);
      const features = normalize ? normalized(plain) : plain;
      const pairs = pairedOf(features, fields);
      const wholes = [0, 0, 0, 0];
      const rest = [0, 0, 0, 0];
      for (const [a, b] of pairs) {
        for (let factor = 0; factor < factors; factor++) {
          const product = f(v[vectorOf(a, b.field) + factor]! * v[vectorOf(b, a.field) + factor]!);
          const into = factor < whole ? wholes : rest;
          into[factor % 4] = f(into[factor % 4]! + f(product * f(a.x * b.x)));
        }
      }
      const pairwise = wholes.map((sum, n) => f(sum + rest[n]!));
      const z = values.dense[0]![0]! + weighed(features, w) + folded(pairwise, f);
      const weight = batch.weights?.[record] ?? 1;
      const score = addOutput(sums, model.task, z, labels[record]!, weight);
      slopes += weight * (score - labels[record]!);
      const slope = kept(f((weight * (score - labels[record]!)) / records));
      for (const { row, x } of features) gradientW[row]! += f(slope * x);
      for (const [a, b] of pairs) {
        const kappa = f(slope * f(a.x * b.x));
        for (let factor = 0; factor < factors; factor++) {
          const [left, right] = [vectorOf(a, b.field) + factor, vectorOf(b, a.field) + factor];
          gradientV[left]! += f(kappa * v[right]!);
          gradientV[right]! += f(kappa * v[left]!);
        }
      }
      return score;
    });
    const bias = Float32Array.of(records === 0 ? 0 : slopes / records);
    return { dense: [bias], sparse: [gradientW, gradientV], metrics: sums, scores };
  };

/** b + (even + odd) in f32: inputs that are not 0, by turns. */
function logitsOf(inputs: readonly (readonly [number, number])[], weights: Float32Array, bias: Float32Array): number[] {
  return Array.from(bias, (first, c) => {
    const sums = [0, 0];
    inputs.forEach(([i, x], n) => {
      sums[n % 2] = f(sums[n % 2]! + f(x * weights[i * bias.length + c]!));
    });
    return f(first + f(sums[0]! + sums[1]!));
  });
}

function runSoftmax(_: Model, batch: Batch, values: PulledValues): Outcome {
  const { records, labels } = batch;
  const [dense] = batch.dense as [DenseInput];
  const { width } = dense;
  const inputs = floatsOf(dense);
  const [weights, bias] = values.dense as [Float32Array, Float32Array];
  const classes = bias.length;
  const sums = noSums(records);
  const gradientW = new Float32Array(weights.length);
  const biasSums = new Float64Array(classes);
  const scores = Float32Array.from({ length: records }, (_, record) => {
    const left: [number, number][] = [];
    for (let i = 0; i < width; i++) {
      const x = inputs[record * width + i]!;
      if (x !== 0) left.push([i, x]);
    }
    const label = labels[record]!;
    const weight = batch.weights?.[record] ?? 1;
    const { powers, total, probability } = addClasses(sums, logitsOf(left, weights, bias), label, weight);
    powers.forEach((power, c) => {
      const slope = weight * (power / total - (c === label ? 1 : 0));
      biasSums[c]! += slope;
      for (const [i, x] of left) gradientW[i * classes + c]! += f(x * kept(f(slope / records)));
    });
    return probability;
  });
  const gradientB = Float32Array.from(biasSums, (sum) => (records === 0 ? 0 : sum / records));
  return { dense: [gradientW, gradientB], sparse: [], metrics: sums, scores };
}
