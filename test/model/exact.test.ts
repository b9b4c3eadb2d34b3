/** The kernels give the bits of the plain models, whatever the batch and wherever its arrays are. */

import { describe, expect, test } from 'vitest';
import type { Batch, Model, PulledValues, StepResult } from '../../src/model/model.ts';
import { createModel, type ModelSpec } from '../../src/model/registry.ts';
import type { ArrayMemory } from '../../src/tensor/array-memory.ts';
import * as fc from '../properties.ts';
import {
  denseBatch,
  FIELDS,
  randomDenseBatch,
  randomSparseBatch,
  randomValues,
  randomWeights,
  type SparseRecords,
  sparseBatch,
} from './batches.ts';
import { referenceModel } from './reference.ts';

const anySparse: fc.Arbitrary<ModelSpec> = fc.oneof(
  fc.record({ type: fc.constant('lr' as const), task: fc.constantFrom('binary', 'regression') }),
  fc.record({
    type: fc.constant('fm' as const),
    task: fc.constantFrom('binary', 'regression'),
    factors: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 15, max: 41 })),
  }),
  fc.record({
    type: fc.constant('ffm' as const),
    task: fc.constantFrom('binary', 'regression'),
    factors: fc.constantFrom(1, 2, 3, 4, 5, 7, 8, 16),
    normalize: fc.boolean(),
  }),
);

const anyShape = fc.record({
  records: fc.oneof(fc.constantFrom(0, 1), fc.integer({ min: 0, max: 40 })),
  ids: fc.integer({ min: 1, max: 30 }),
  seed: fc.nat(),
});

const words = (array: Float32Array): number[] => [
  ...new Uint32Array(array.buffer.slice(array.byteOffset, array.byteOffset + array.byteLength)),
];

const bitsOf = ({ dense, sparse, metrics }: StepResult) => ({
  dense: dense.map(words),
  sparse: sparse.map(words),
  metrics,
});

function expectSame(model: Model, plain: Model, batch: Batch, values: PulledValues): void {
  expect(bitsOf(model.step(batch, values))).toEqual(bitsOf(plain.step(batch, values)));
  const [actual, expected] = [model.evaluate(batch, values), plain.evaluate(batch, values)];
  expect(words(actual.scores)).toEqual(words(expected.scores));
  expect(actual.metrics).toEqual(expected.metrics);
}

/** The same batch and values in the memory of the model. */
function movedInto(memory: ArrayMemory, data: SparseRecords, values: PulledValues): [SparseRecords, PulledValues] {
  const floats = (from: Float32Array): Float32Array => {
    const array = memory.floats(from.length);
    array.set(from);
    return array;
  };
  const integers = (from: Uint32Array): Uint32Array => {
    const array = memory.words(from.length);
    array.set(from);
    return array;
  };
  const moved = {
    ...data,
    offsets: integers(data.offsets),
    rows: integers(data.rows),
    labels: floats(data.labels),
    values: data.values === undefined ? undefined : floats(data.values),
    weights: data.weights === undefined ? undefined : floats(data.weights),
  };
  return [moved, { dense: values.dense.map(floats), sparse: values.sparse.map(floats) }];
}

describe('lr, fm and ffm', () => {
  const facts = { inputWidth: 1, classes: 2, fields: FIELDS, seed: 1 };

  test('have the bits of the plain model for any batch, also in their own memory', () => {
    fc.assert(
      fc.property(anySparse, anyShape, fc.boolean(), fc.boolean(), (spec, shape, ones, weighted) => {
        const [model, plain] = [createModel(spec, facts), referenceModel(spec, facts)];
        const random = randomSparseBatch({ ...shape, classes: model.task === 'binary' ? 2 : 0 });
        const weights = weighted ? randomWeights(shape.records, shape.seed + 2) : undefined;
        const data = { ...random, weights, values: ones ? undefined : random.values };
        const values = randomValues(model, data.count, shape.seed + 1);
        expectSame(model, plain, sparseBatch(data), values);
        const [moved, movedValues] = movedInto(model.memory!, data, values);
        expectSame(model, plain, sparseBatch(moved), movedValues);
      }),
      { numRuns: 60 },
    );
  });

  test('have the same bits without values as with values of 1', () => {
    fc.assert(
      fc.property(anySparse, anyShape, (spec, shape) => {
        const model = createModel(spec, facts);
        const random = randomSparseBatch({ ...shape, classes: 2 });
        const values = randomValues(model, random.count, shape.seed + 1);
        const stepOf = (of: Float32Array | undefined) =>
          bitsOf(model.step(sparseBatch({ ...random, values: of }), values));
        expect(stepOf(undefined)).toEqual(stepOf(new Float32Array(random.rows.length).fill(1)));
      }),
      { numRuns: 40 },
    );
  });

  test('have the same bits without weights as with weights of 1', () => {
    fc.assert(
      fc.property(anySparse, anyShape, (spec, shape) => {
        const model = createModel(spec, facts);
        const random = randomSparseBatch({ ...shape, classes: 2 });
        const values = randomValues(model, random.count, shape.seed + 1);
        const stepOf = (weights: Float32Array | undefined) =>
          bitsOf(model.step(sparseBatch({ ...random, weights }), values));
        expect(stepOf(undefined)).toEqual(stepOf(new Float32Array(shape.records).fill(1)));
      }),
      { numRuns: 40 },
    );
  });

  test.each(['lr', 'fm', 'ffm'] as const)('%s passes on NaN and infinity of values, features and labels', (type) => {
    const model = createModel({ type }, facts);
    const data = randomSparseBatch({ records: 12, ids: 9, seed: 3, classes: 2 });
    const isWellBehaved = (step: StepResult): boolean =>
      [...step.dense, ...step.sparse].flatMap((a) => [...a]).every(Number.isFinite);
    const values = randomValues(model, data.count, 4);
    expect(isWellBehaved(model.step(sparseBatch(data), values))).toBe(true);
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const features = data.values!.with(0, bad);
      expect(isWellBehaved(model.step(sparseBatch({ ...data, values: features }), values))).toBe(false);
      const labels = data.labels.with(0, bad);
      expect(isWellBehaved(model.step(sparseBatch({ ...data, labels }), values))).toBe(false);
      const rows = values.sparse.map((table) => table.with(0, Number.NaN));
      expect(isWellBehaved(model.step(sparseBatch(data), { ...values, sparse: rows }))).toBe(false);
    }
  });

  test('a row that is that of no distinct id, or offsets that go back, are a bug that is found', () => {
    const model = createModel({ type: 'lr' }, facts);
    const data = randomSparseBatch({ records: 12, ids: 9, seed: 3, classes: 2 });
    const values = randomValues(model, data.count, 4);
    const stepOf = (more: Partial<SparseRecords>) => () => model.step(sparseBatch({ ...data, ...more }), values);
    for (const at of [0, data.rows.length - 1]) {
      expect(stepOf({ rows: data.rows.with(at, data.count) })).toThrow('distinct id');
    }
    expect(stepOf({ offsets: data.offsets.with(1, 2 ** 31) })).toThrow('offsets ascend');
  });
});

/** 0 where the numbers are. */
const someBytes = (floats: Float32Array | Uint8Array): Uint8Array =>
  Uint8Array.from(floats, (x) => Math.min(255, Math.ceil(100 * Math.abs(x))));

test('softmax has the bits of the plain model for any batch and number of classes', () => {
  const anyWidth = fc.integer({ min: 1, max: 33 });
  const anyClasses = fc.oneof(fc.integer({ min: 2, max: 17 }), fc.constantFrom(100, 250));
  fc.assert(
    fc.property(
      anyWidth,
      anyClasses,
      anyShape,
      fc.boolean(),
      fc.boolean(),
      (width, classes, shape, weighted, inBytes) => {
        const { records, seed } = shape;
        const facts = { inputWidth: width, classes, fields: 0, seed: 1 };
        const [model, plain] = [createModel({ type: 'softmax' }, facts), referenceModel({ type: 'softmax' }, facts)];
        const data = randomDenseBatch({ records, width, classes, seed, ids: 0 });
        const weights = weighted ? randomWeights(records, seed + 2) : undefined;
        const batch = denseBatch({ ...data, weights, values: inBytes ? someBytes(data.values) : data.values });
        const values = randomValues(model, 0, seed + 1);
        expectSame(model, plain, batch, values);
        // Of the label's class the same bits; of the others, those of a batch with other labels.
        const all = model.classProbabilities!(batch, values);
        const classOf = (label: number): Float32Array => all.filter((_, at) => at % classes === label);
        for (const label of [0, classes - 1]) {
          const relabeled = { ...batch, labels: new Float32Array(records).fill(label) };
          expect(words(classOf(label))).toEqual(words(model.evaluate(relabeled, values).scores));
        }
        expect(all).toHaveLength(records * classes);
      },
    ),
    { numRuns: 40 },
  );
});

describe('softmax of bytes', () => {
  const width = 256;
  const facts = { inputWidth: width, classes: 10, fields: 0, seed: 1 };
  const model = createModel({ type: 'softmax' }, facts);
  const bytes = Uint8Array.from({ length: width }, (_, byte) => byte);

  test('takes each as byte / 255, rounded to f32', () => {
    // A gradient of W is input × slope: from one record with the slope 1 it is the input.
    const values = { dense: [new Float32Array(width * 10), Float32Array.of(0, ...Array(9).fill(1000))], sparse: [] };
    const labels = Float32Array.of(0);
    const { dense } = model.step(denseBatch({ records: 1, labels, width, values: bytes }), values);
    const ofClass0 = dense[0]!.filter((_, at) => at % 10 === 0);
    expect([...ofClass0]).toEqual(Array.from(bytes, (byte) => -Math.fround(byte / 255) + 0));
  });
});
