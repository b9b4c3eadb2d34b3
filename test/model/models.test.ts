import { describe, expect, test } from 'vitest';
import { AssertionError } from '../../src/base/assert.ts';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { type Batch, type Model, ordinaryStep, type PulledValues, type StepResult } from '../../src/model/model.ts';
import { createModel, type ModelSpec, NAMED_MODELS } from '../../src/model/registry.ts';
import {
  denseBatch,
  FIELDS,
  randomDenseBatch,
  randomSparseBatch,
  randomValues,
  type SparseRecords,
  sparseBatch,
} from './batches.ts';
import {
  type NaiveOutput,
  type NaiveValues,
  naiveFfm,
  naiveFm,
  naiveLinear,
  naiveSoftmaxLoss,
  naiveSparseLoss,
  numericGradient,
} from './naive-models.ts';

const FACTS = { inputWidth: 5, classes: 3, fields: FIELDS, seed: 1 };
const widened = (values: PulledValues): NaiveValues => ({
  dense: values.dense.map((a) => [...a]),
  sparse: values.sparse.map((a) => [...a]),
});

/** Relative to 1, as gradients of a mean are of order 1; they are sums in f32. */
function expectClose(actual: readonly Float32Array[], expected: readonly (readonly number[])[]): void {
  expect(actual.map((array) => array.length)).toEqual(expected.map((array) => array.length));
  actual.forEach((array, at) => {
    array.forEach((value, i) => {
      expect(Math.abs(value - expected[at]![i]!)).toBeLessThan(2e-6 * (1 + Math.abs(value)));
    });
  });
}

const SPARSE: [ModelSpec & { type: 'lr' | 'fm' | 'ffm' }, NaiveOutput][] = [
  [{ type: 'lr' }, naiveLinear],
  [{ type: 'lr', task: 'regression' }, naiveLinear],
  [{ type: 'fm', factors: 3 }, naiveFm(3)],
  [{ type: 'fm', factors: 1, task: 'regression' }, naiveFm(1)],
  [{ type: 'fm' }, naiveFm(8)],
  [{ type: 'ffm' }, naiveFfm(4, FIELDS)],
  [{ type: 'ffm', factors: 3, task: 'regression' }, naiveFfm(3, FIELDS)],
  [{ type: 'ffm', factors: 2, normalize: false }, naiveFfm(2, FIELDS, false)],
];

describe.each(SPARSE)('%j', (spec, output) => {
  const model = createModel(spec, FACTS);
  const task = spec.task ?? 'binary';
  const classes = task === 'binary' ? 2 : 0;

  test.each([1, 2, 3])('loss, scores and gradients are those of the formula (%d)', (seed) => {
    const data = randomSparseBatch({ records: 20, ids: 15, seed, classes });
    const values = randomValues(model, data.count, seed + 100);
    const batch: Batch = sparseBatch(data);
    const { metrics, dense, sparse } = model.step(batch, values);
    const wide = widened(values);
    const naive = naiveSparseLoss(output, task, data, wide);
    expect(metrics.records).toBe(20);
    expect(metrics.loss / 20).toBeCloseTo(naive.mean, 5);
    const gradient = numericGradient(wide, (moved) => naiveSparseLoss(output, task, data, moved).mean);
    expectClose(dense, gradient.dense);
    expectClose(sparse, gradient.sparse);

    const evaluated = model.evaluate(batch, values);
    expect(evaluated.metrics).toEqual(metrics);
    expect([...evaluated.scores]).toEqual(naive.scores.map((score) => expect.closeTo(score, 5)));
    const squares = naive.scores.reduce((sum, score, at) => sum + (score - data.labels[at]!) ** 2, 0);
    expect(metrics.squaredError).toBeCloseTo(squares, 4);
    const right = naive.scores.filter((score, at) => score > 0.5 === data.labels[at]! > 0.5).length;
    expect(metrics.correct).toBe(task === 'binary' ? right : 0);
  });

  test('a batch without records has zero gradients', () => {
    const data = randomSparseBatch({ records: 0, ids: 1, seed: 1, classes });
    const { dense, sparse, metrics } = model.step(sparseBatch(data), randomValues(model, 0, 1));
    expect(dense).toEqual([Float32Array.of(0)]);
    expect(sparse.map((array) => array.length)).toEqual(model.parameters.sparse.map(() => 0));
    expect(metrics).toEqual({ records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 });
  });

  test('values of another shape are a bug that is found', () => {
    const data = randomSparseBatch({ records: 5, ids: 9, seed: 3, classes });
    const step = () => model.step(sparseBatch(data), randomValues(model, data.count + 1, 1));
    expect(step).toThrow(AssertionError);
  });
});

describe('softmax', () => {
  const model = createModel({ type: 'softmax' }, FACTS);

  test.each([1, 2, 3])('loss, scores and gradients are those of the formula (%d)', (seed) => {
    const data = randomDenseBatch({ records: 20, width: 5, ids: 0, seed, classes: 3 });
    const values = randomValues(model, 0, seed + 100);
    const batch: Batch = denseBatch(data);
    const { metrics, dense } = model.step(batch, values);
    const wide = widened(values);
    const naive = naiveSoftmaxLoss(data, 3, wide);
    expect(metrics).toMatchObject({ records: 20, correct: naive.correct });
    expect(metrics.loss / 20).toBeCloseTo(naive.mean, 5);
    expectClose(dense, numericGradient(wide, (moved) => naiveSoftmaxLoss(data, 3, moved).mean).dense);
    const evaluated = model.evaluate(batch, values);
    expect(evaluated.metrics).toEqual(metrics);
    expect([...evaluated.scores]).toEqual(naive.scores.map((score) => expect.closeTo(score, 5)));
  });

  test('logits of any size have finite losses', () => {
    const data = { records: 2, width: 5, values: new Float32Array(10).fill(1), labels: Float32Array.of(0, 1) };
    const weights = Float32Array.from({ length: 15 }, (_, at) => (at % 3 === 0 ? 1e30 : -1e30));
    const { metrics, dense } = model.step(denseBatch(data), { dense: [weights, new Float32Array(3)], sparse: [] });
    expect(metrics.loss).toBeCloseTo(-Math.log(1e-15), 9);
    for (const value of dense[0]!) expect(Number.isFinite(value)).toBe(true);
  });

  test('a batch without records has zero gradients', () => {
    const data = { records: 0, width: 5, values: new Float32Array(0), labels: new Float32Array(0) };
    const { dense } = model.step(denseBatch(data), randomValues(model, 0, 1));
    expect(dense).toEqual([new Float32Array(15), new Float32Array(3)]);
  });

  test('an unknown class is a bug that is found', () => {
    const data = { records: 1, width: 5, values: new Float32Array(5), labels: Float32Array.of(3) };
    expect(() => model.step(denseBatch(data), randomValues(model, 0, 1))).toThrow(AssertionError);
  });

  test('data without classes does not suit', () => {
    expect(() => createModel({ type: 'softmax' }, { inputWidth: 5, classes: 1, fields: 0, seed: 1 })).toThrow(
      'needs inputs and two or more classes',
    );
  });
});

describe('ffm', () => {
  const batchOf = (fields: readonly number[]): Batch =>
    sparseBatch({
      records: 1,
      labels: Float32Array.of(1),
      offsets: Uint32Array.of(0, fields.length),
      rows: Uint32Array.from(fields, (_, at) => at),
      values: undefined,
      fields: Uint16Array.from(fields),
      ids: new Uint8Array(8 * fields.length),
      count: fields.length,
    });

  test('a feature of a field that the model does not have is in no pair, and has no gradient but the linear one', () => {
    const model = createModel({ type: 'ffm', normalize: false }, { ...FACTS, fields: 2 });
    for (const unknown of [2, 65_535]) {
      const batch = batchOf([0, unknown, 1]);
      const { dense, sparse } = randomValues(model, 3, 5);
      const { sparse: gradients } = model.step(batch, { dense, sparse });
      expect([...gradients[1]!.subarray(8, 16)]).toEqual(Array(8).fill(0));
      expect([...gradients[0]!].every((gradient) => gradient === gradients[0]![0])).toBe(true);
      const moved = { dense, sparse: [sparse[0]!, sparse[1]!.map((value, at) => (at >= 8 && at < 16 ? 9 : value))] };
      expect(model.evaluate(batch, moved)).toEqual(model.evaluate(batch, { dense, sparse }));
    }
  });

  test('a batch without fields is a bug that is found', () => {
    const model = createModel({ type: 'ffm' }, FACTS);
    const { fields: _, ...data } = randomSparseBatch({ records: 5, ids: 9, seed: 3, classes: 2 });
    expect(() => model.step(sparseBatch(data), randomValues(model, data.count, 1))).toThrow('a field a feature');
  });

  test('rows that are too wide, and data without fields, do not suit', () => {
    const made = (fields: number, factors: number) => () => createModel({ type: 'ffm', factors }, { ...FACTS, fields });
    expect(made(4096, 16)).not.toThrow();
    expect(made(4096, 17)).toThrow('expected 1 to 65536 floats per row for ffm, got 69632: 4096 fields × 17 factors');
    expect(made(0, 4)).toThrow('got 0: 0 fields × 4 factors');
  });
});

describe('every model', () => {
  const specs: ModelSpec[] = NAMED_MODELS.map((type) => ({ type }));

  function stepOf(model: Model, seed: number): StepResult {
    const dense = randomDenseBatch({ records: 64, width: 5, ids: 0, seed, classes: 3 });
    const sparse = randomSparseBatch({ records: 64, ids: 40, seed, classes: 2 });
    const batch: Batch = model.input === 'dense' ? denseBatch(dense) : sparseBatch(sparse);
    return ordinaryStep(model, model.step(batch, randomValues(model, sparse.count, seed)));
  }

  test.each(specs)('$type gives the same bits for the same input, whatever came before', (spec) => {
    const model = createModel(spec, FACTS);
    const first = stepOf(model, 7);
    for (let seed = 0; seed < 5; seed++) stepOf(model, seed);
    expect(stepOf(model, 7)).toEqual(first);
    expect(stepOf(createModel(spec, FACTS), 7)).toEqual(first);
  });

  test.each(specs)('$type returns gradients that later steps do not touch', (spec) => {
    const model = createModel(spec, FACTS);
    const data = randomSparseBatch({ records: 9, ids: 20, seed: 3, classes: 2 });
    const dense = randomDenseBatch({ records: 9, width: 5, ids: 0, seed: 3, classes: 3 });
    const batch: Batch = model.input === 'dense' ? denseBatch(dense) : sparseBatch(data);
    const step = model.step(batch, randomValues(model, data.count, 4));
    const copy = [...step.dense, ...step.sparse].map((gradient) => gradient.slice());
    stepOf(model, 8);
    expect([...step.dense, ...step.sparse]).toEqual(copy);
  });

  test.each(['lr', 'fm', 'ffm'] as const)('%s does not depend on how the ids are numbered', (type) => {
    const model = createModel({ type }, FACTS);
    const data = randomSparseBatch({ records: 30, ids: 20, seed: 5, classes: 2 });
    const values = randomValues(model, data.count, 6);
    const order = permutation(data.count, 9);
    const renumbered: SparseRecords = { ...data, rows: data.rows.map((row) => order[row]!) };
    const moved = (rows: readonly Float32Array[]) =>
      rows.map((array) => permuted(array, order, array.length / data.count));
    const plain = model.step(sparseBatch(data), values);
    const other = model.step(sparseBatch(renumbered), { dense: values.dense, sparse: moved(values.sparse) });
    expect(other.metrics).toEqual(plain.metrics);
    expect(other.sparse).toEqual(moved(plain.sparse));
  });

  test('a batch of the wrong kind is a bug that is found', () => {
    const data = randomDenseBatch({ records: 1, width: 5, ids: 0, seed: 1, classes: 2 });
    const lr = createModel({ type: 'lr' }, FACTS);
    expect(() => lr.step(denseBatch(data), randomValues(lr, 0, 1))).toThrow(AssertionError);
  });
});

function permutation(length: number, seed: number): number[] {
  const random = createRandomStream(seed);
  return Array.from({ length }, (_, at) => ({ at, key: random.uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ at }) => at);
}

function permuted(rows: Float32Array, order: readonly number[], width: number): Float32Array {
  const result = new Float32Array(rows.length);
  order.forEach((to, from) => {
    result.set(rows.subarray(from * width, (from + 1) * width), to * width);
  });
  return result;
}
