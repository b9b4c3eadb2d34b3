/** Layers: the bits of their plain form, and the gradients of their formulas. */
import { describe, expect, test } from 'vitest';
import { createRandomStream } from '../../../src/data/synth/random-stream.ts';
import type { Batch, Model, PulledValues } from '../../../src/model/model.ts';
import { ArrayMemory } from '../../../src/tensor/array-memory.ts';
import * as fc from '../../properties.ts';
import { randomWeights } from '../batches.ts';
import { numericGradient } from '../naive-models.ts';
import { batchOf, CASES, INPUT_WIDTH, type NetworkCase, networkOf, SEED } from './networks.ts';
import { plainNetwork, runPlainly } from './plain-network.ts';

const PLACE = { pass: 2, task: 7, batch: 3 };

const bits = (arrays: readonly Float32Array[]): number[][] =>
  arrays.map((array) => [...new Uint32Array(array.slice().buffer)]);

function valuesFor(model: Model, batch: Batch, seed: number): PulledValues {
  const random = createRandomStream(seed);
  const normals = (length: number): Float32Array => Float32Array.from({ length }, () => 0.5 * random.normal());
  return {
    dense: model.parameters.dense.map(({ shape, statisticRate }) =>
      normals(shape.reduce((product, size) => product * size, 1)).map((value) =>
        statisticRate === undefined ? value : Math.abs(value),
      ),
    ),
    sparse: model.parameters.sparse.map(({ width }, table) =>
      normals(batch.sparse[model.lookups[table]!]!.count * width),
    ),
  };
}

describe.each(CASES)('$what', (one: NetworkCase) => {
  const model = networkOf(one);
  const plain = plainNetwork(model, one.layers, SEED);

  test('gives the bits of its plain form', () => {
    const shapes = fc.record({
      records: fc.oneof(fc.constantFrom(0, 1), fc.integer({ min: 2, max: 30 })),
      seed: fc.nat(),
      isWeighted: fc.boolean(),
    });
    fc.assert(
      fc.property(shapes, ({ records, seed, isWeighted }) => {
        const made = batchOf(one, model, { records, seed });
        const batch = isWeighted ? { ...made, weights: randomWeights(records, seed) } : made;
        const values = valuesFor(model, batch, seed + 1);
        const [actual, expected] = [model.step(batch, values, PLACE), plain.step(batch, values, PLACE)];
        expect(bits(actual.dense)).toEqual(bits(expected.dense));
        expect(bits(actual.sparse)).toEqual(bits(expected.sparse));
        expect(actual.metrics).toEqual(expected.metrics);
        const [scored, wanted] = [model.evaluate(batch, values), plain.evaluate(batch, values)];
        expect(bits([scored.scores])).toEqual(bits([wanted.scores]));
        expect(scored.metrics).toEqual(wanted.metrics);
      }),
      { numRuns: 15 },
    );
  });

  test.each([1, 2, 3])('has the gradients of its formula (%d)', (seed) => {
    const batch = batchOf(one, model, { records: 12, seed });
    const values = valuesFor(model, batch, seed + 50);
    const { dense, sparse } = model.step(batch, values, PLACE);
    const exactly = { layers: one.layers, seed: SEED, round: (value: number) => value };
    const wide = { dense: values.dense.map((a) => [...a]), sparse: values.sparse.map((a) => [...a]) };
    const how = { isTraining: true, place: PLACE };
    const expected = numericGradient(wide, (moved) => runPlainly(model, exactly, batch, moved, how).metrics.loss / 12);
    model.parameters.dense.forEach(({ statisticRate }, at) => {
      if (statisticRate === undefined) expectClose(dense[at]!, expected.dense[at]!);
    });
    sparse.forEach((gradient, table) => {
      expectClose(gradient, expected.sparse[table]!);
    });
  });

  test('scores a record alike, whatever is evaluated with it', () => {
    const batch = batchOf(one, model, { records: 600, seed: 4 });
    const values = valuesFor(model, batch, 5);
    const { scores } = model.evaluate(batch, values);
    for (const record of [0, 255, 256, 511, 512, 599]) {
      const alone = recordOf(batch, record);
      expect(model.evaluate(alone, values).scores).toEqual(scores.slice(record, record + 1));
      if (one.task !== 'multiclass') continue;
      const probabilities = model.classProbabilities!(batch, values);
      const own = probabilities.slice(record * one.outputs, (record + 1) * one.outputs);
      expect(model.classProbabilities!(alone, values)).toEqual(own);
      expect(own[batch.labels[record]!]).toBe(scores[record]);
    }
  });
});

function expectClose(actual: Float32Array, expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  actual.forEach((value, at) => {
    expect(Math.abs(value - expected[at]!)).toBeLessThan(1e-5 * (1 + Math.abs(value)));
  });
}

/** A batch of one record, with the distinct ids of all. */
function recordOf({ labels, sparse, dense }: Batch, record: number): Batch {
  return {
    records: 1,
    labels: labels.slice(record, record + 1),
    sparse: sparse.map(({ offsets, rows, values, fields, ids, count }) => {
      const [from, to] = [offsets[record]!, offsets[record + 1]!];
      return {
        ...{ ids, count },
        offsets: Uint32Array.of(0, to - from),
        rows: rows.slice(from, to),
        values: values?.slice(from, to),
        fields: fields?.slice(from, to),
      };
    }),
    dense: dense.map(({ width, values }) => ({ width, values: values.slice(record * width, (record + 1) * width) })),
  };
}

describe('products of matrices', () => {
  const f = Math.fround;

  test('give one chain of sums in the order of k, for any shape', () => {
    const sizes = fc.record({
      records: fc.integer({ min: 0, max: 21 }),
      width: fc.integer({ min: 1, max: 37 }),
      units: fc.integer({ min: 1, max: 27 }),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(sizes, ({ records, width, units, seed }) => {
        const random = createRandomStream(seed);
        const memory = new ArrayMemory();
        const floats = (length: number): Float32Array => memory.floats(length).map(() => random.normal());
        const [x, w, d] = [floats(records * width), floats(width * units), floats(records * units)];
        const [y, dx, dw] = [records * units, records * width, width * units].map((length) => memory.floats(length));
        const { kernels } = memory.heap;
        const scratch = memory.bytes(kernels.denseScratch(records, width, units)).byteOffset;
        const at = (array: Float32Array | undefined): number => array!.byteOffset;
        const [xs, ws, ds] = [x, w, d].map((array) => {
          const copy = memory.floats(array.length);
          copy.set(array);
          return copy.byteOffset;
        }) as [number, number, number];
        kernels.denseOutputs(records, width, units, xs, ws, at(y), scratch);
        kernels.denseInputGradient(records, width, units, ds, ws, at(dx), scratch);
        kernels.denseWeightGradient(records, width, units, xs, ds, at(dw), scratch);
        const chain = (count: number, of: (k: number) => number): number => {
          let sum = 0;
          for (let k = 0; k < count; k++) sum = f(sum + f(of(k)));
          return sum;
        };
        y!.forEach((value, i) => {
          const [r, u] = [Math.floor(i / units), i % units];
          expect(value).toBe(chain(width, (k) => x[r * width + k]! * w[k * units + u]!));
        });
        dx!.forEach((value, i) => {
          const [r, k] = [Math.floor(i / width), i % width];
          expect(value).toBe(chain(units, (u) => d[r * units + u]! * w[k * units + u]!));
        });
        dw!.forEach((value, i) => {
          const [k, u] = [Math.floor(i / units), i % units];
          expect(value).toBe(chain(records, (r) => x[r * width + k]! * d[r * units + u]!));
        });
      }),
    );
  });
});

describe('dropout', () => {
  const one = CASES.find(({ what }) => what === 'dropout')!;
  const model = networkOf(one);
  const batch = batchOf(one, model, { records: 20, seed: 1 });
  const values = valuesFor(model, batch, 2);
  const gradientAt = (place: typeof PLACE, of = model) => bits(of.step(batch, values, place).dense);

  test('depends on pass, task and batch, and on nothing that was computed before', () => {
    const first = gradientAt(PLACE);
    for (const other of [{ pass: 1 }, { task: 1 }, { batch: 1 }]) {
      expect(gradientAt({ ...PLACE, ...other })).not.toEqual(first);
    }
    expect(gradientAt(PLACE)).toEqual(first);
    expect(gradientAt(PLACE, networkOf(one))).toEqual(first);
  });

  test('must be told which batch it is', () => {
    expect(() => model.step(batch, values)).toThrow('which batch');
  });

  test('leaves out its share', () => {
    const memory = new ArrayMemory();
    const multipliers = memory.floats(100_000);
    const { kernels } = memory.heap;
    kernels.drawMultipliers(100_000, Math.floor(0.4 * 2 ** 32), 1 / 0.6, 1, 2, 3, 4, 5, multipliers.byteOffset);
    const share = multipliers.filter((one) => one === 0).length / 100_000;
    expect(share).toBeCloseTo(0.4, 2);
    expect(new Set(multipliers)).toEqual(new Set([0, Math.fround(1 / 0.6)]));
  });
});

test('images are inputs as bytes, with the bits of byte / 255', () => {
  const one = CASES[0]!;
  const model = networkOf(one);
  const bytes = Uint8Array.from({ length: 256 * INPUT_WIDTH }, (_, at) => at % 256);
  const labels = Float32Array.from({ length: 256 }, (_, at) => at % 3);
  const batchWith = (values: Uint8Array | Float32Array): Batch => ({
    ...{ records: 256, labels, sparse: [] },
    dense: [{ width: INPUT_WIDTH, values }],
  });
  const values = valuesFor(model, batchWith(bytes), 3);
  const floats = Float32Array.from(bytes, (byte) => byte / 255);
  const steps = [bytes, floats].map((inputs) => model.step(batchWith(inputs), values));
  expect(bits(steps[0]!.dense)).toEqual(bits(steps[1]!.dense));
});
