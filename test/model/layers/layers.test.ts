/** Layers: the bits of their plain form, and the gradients of their formulas. */
import { describe, expect, test } from 'vitest';
import { AssertionError } from '../../../src/base/assert.ts';
import { createRandomStream } from '../../../src/data/synth/random-stream.ts';
import type { Batch, Model, PulledValues } from '../../../src/model/model.ts';
import { ArrayMemory } from '../../../src/tensor/array-memory.ts';
import { createOptimizer } from '../../../src/tensor/kernel-optimizer.ts';
import { trainedSpec } from '../../../src/tensor/optimizer.ts';
import * as fc from '../../properties.ts';
import { randomWeights } from '../batches.ts';
import { numericGradient } from '../naive-models.ts';
import { batchOf, CASES, INPUT_WIDTH, type NetworkCase, networkOf, SEED } from './networks.ts';
import { plainNetwork, runPlainly } from './plain-network.ts';

const ADAM = { learningRate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 };
const PLACE = { pass: 2, task: 7, batch: 3 };

const bits = (arrays: readonly Float32Array[]): number[][] =>
  arrays.map((array) => [...new Uint32Array(array.slice().buffer)]);

function valuesFor(model: Model, batch: Batch, seed: number): PulledValues {
  const random = createRandomStream(seed);
  const normals = (length: number): Float32Array => Float32Array.from({ length }, () => 0.5 * random.normal());
  return {
    dense: model.parameters.dense.map(({ name, shape, statisticRate }) =>
      normals(shape.reduce((product, size) => product * size, 1)).map((value) =>
        statisticRate === undefined || name.endsWith('.mean') ? value : Math.abs(value),
      ),
    ),
    sparse: model.parameters.sparse.map(({ width }, table) =>
      normals(batch.sparse[model.lookups[table]!]!.count * width),
    ),
  };
}

/** Many of them so small that products are denormal, and some denormal themselves. */
function shrunk({ dense, sparse }: PulledValues, seed: number): PulledValues {
  const random = createRandomStream(seed);
  const shrink = (floats: Float32Array): Float32Array =>
    floats.map((x) => x * 2 ** -Math.floor(140 * random.uniform()));
  return { dense: dense.map(shrink), sparse: sparse.map(shrink) };
}

describe.each(CASES)('$what', (one: NetworkCase) => {
  const model = networkOf(one);
  const plain = plainNetwork(model, one.layers, SEED);

  test('gives the bits of its plain form', () => {
    const shapes = fc.record({
      records: fc.oneof(fc.constantFrom(0, 1), fc.integer({ min: 2, max: 30 })),
      seed: fc.nat(),
      isWeighted: fc.boolean(),
      isTiny: fc.boolean(),
    });
    fc.assert(
      fc.property(shapes, ({ records, seed, isWeighted, isTiny }) => {
        const made = batchOf(one, model, { records, seed });
        const batch = isWeighted ? { ...made, weights: randomWeights(records, seed) } : made;
        const ordinary = valuesFor(model, batch, seed + 1);
        const values = isTiny ? shrunk(ordinary, seed) : ordinary;
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

describe('batch normalization', () => {
  const one = CASES.find(({ what }) => what === 'batchNorm')!;
  const model = networkOf(one);
  const batch = batchOf(one, model, { records: 9, seed: 1 });

  test('takes mean 0 and variance 1 before it has seen anything', () => {
    const values = valuesFor(model, batch, 2);
    const dense = model.parameters.dense.map(({ name }, at) =>
      name.endsWith('.seen') ? Float32Array.of(0) : values.dense[at]!,
    );
    const plain = plainNetwork(model, one.layers, SEED);
    const { scores } = model.evaluate(batch, { dense, sparse: [] });
    expect(bits([scores])).toEqual(bits([plain.evaluate(batch, { dense, sparse: [] }).scores]));
    const moved = dense.map((array, at) =>
      model.parameters.dense[at]!.name.endsWith('.mean') ? array.map(() => 7) : array,
    );
    expect(model.evaluate(batch, { dense: moved, sparse: [] }).scores).toEqual(scores);
  });

  test('has running statistics that are means of what was pushed, however stale the values of a push were', () => {
    const { dense } = trainedSpec(model.parameters, { optimizer: { type: 'adam', ...ADAM } });
    const memory = new ArrayMemory();
    const optimizers = dense.map(({ optimizer }) => createOptimizer(memory.heap, optimizer));
    const learned = valuesFor(model, batch, 3).dense;
    const values = dense.map(({ statisticRate }, at) => {
      const array = memory.floats(learned[at]!.length);
      if (statisticRate === undefined) array.set(learned[at]!);
      else array.fill(0);
      return array;
    });
    // All from the first values: 40 pushes that are on their way at once.
    const step = model.step(batch, { dense: learned, sparse: [] });
    const apply = (gradients: readonly Float32Array[]): void => {
      dense.forEach(({ statisticRate }, at) => {
        if (statisticRate === undefined) return;
        const gradient = memory.floats(gradients[at]!.length);
        gradient.set(gradients[at]!);
        memory.heap.kernels.update(
          optimizers[at]!.address,
          values[at]!.byteOffset,
          gradient.byteOffset,
          gradient.length,
          0,
        );
      });
    };
    for (let push = 0; push < 40; push++) apply(step.dense);
    const statistics = (): number[][] => {
      const [mean, variance, seen] = ['.mean', '.variance', '.seen'].map(
        (end) => values[dense.findIndex(({ name }) => name.endsWith(end))]!,
      );
      return [mean, variance].map((array) => [...array!].map((value) => value / seen![0]!));
    };
    const pushed = ['.mean', '.variance'].map((end) =>
      [...step.dense[dense.findIndex(({ name }) => name.endsWith(end))]!].map((value) => expect.closeTo(-value, 5)),
    );
    expect(statistics()).toEqual(pushed);
    // Without records a push brings zeros.
    for (let push = 0; push < 5; push++) apply(step.dense.map((gradient) => gradient.map(() => 0)));
    expect(statistics()).toEqual(pushed);
  });
});

describe('what a network reads is checked', () => {
  const one = CASES.find(({ what }) => what === 'embeddings by column, as means, beside numbers')!;
  const model = networkOf(one);
  const batch = batchOf(one, model, { records: 4, seed: 1 });
  const values = valuesFor(model, batch, 2);

  test.each<[string, Partial<Batch>]>([
    ['numbers that are missing', { dense: [] }],
    [
      'numbers of another width',
      { dense: [{ width: INPUT_WIDTH - 1, values: new Float32Array(4 * (INPUT_WIDTH - 1)) }] },
    ],
    ['features that are missing', { sparse: [] }],
    ['features without fields', { sparse: batch.sparse.map((input) => ({ ...input, fields: undefined })) }],
  ])('%s', (_, more) => {
    expect(() => model.evaluate({ ...batch, ...more }, values)).toThrow(AssertionError);
  });

  test('weights of records, and a class of each', () => {
    const classes = CASES.find(({ what }) => what === 'a dense layer')!;
    const made = networkOf(classes);
    const good = batchOf(classes, made, { records: 4, seed: 1 });
    const own = valuesFor(made, good, 2);
    expect(() => made.step({ ...good, labels: Float32Array.of(0, 1, 3, 2) }, own)).toThrow('a known class');
    expect(() => made.step({ ...good, weights: new Float32Array(3) }, own)).toThrow('a weight a record');
  });
});

test('memory that cannot grow is not used as it was', () => {
  const one = CASES[0]!;
  const model = networkOf(one);
  const batch = batchOf(one, model, { records: 3, seed: 1 });
  const values = valuesFor(model, batch, 2);
  const before = bits(model.step(batch, values).dense);
  const huge = 2 ** 28;
  const labels = { length: huge } as unknown as Float32Array;
  const classless = {
    ...one,
    task: 'regression',
    outputs: 1,
    layers: [{ type: 'numbers' }, { type: 'dense' }],
  } as const;
  const regression = networkOf(classless);
  expect(() => regression.step({ ...batch, records: huge, labels }, valuesFor(regression, batch, 2))).toThrow(
    'no space',
  );
  expect(bits(model.step(batch, values).dense)).toEqual(before);
});

describe('products of matrices', () => {
  test('say how much memory they need, even when that is more than there can be', () => {
    const { kernels } = new ArrayMemory().heap;
    expect(kernels.denseScratch(600, 2 ** 20, 10)).toBe((600 + 8) * 2 ** 20 * 4);
    expect(kernels.denseScratch(4097, 2 ** 24, 10)).toBe((4100 + 8) * 2 ** 24 * 4);
  });

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
        const plainly = (count: number, columns: number, of: (row: number, column: number) => number): Float32Array =>
          Float32Array.from({ length: count }, (_, i) => of(Math.floor(i / columns), i % columns));
        const outputs = plainly(records * units, units, (r, u) =>
          chain(width, (k) => x[r * width + k]! * w[k * units + u]!),
        );
        const ofInput = plainly(records * width, width, (r, k) =>
          chain(units, (u) => d[r * units + u]! * w[k * units + u]!),
        );
        const ofWeights = plainly(width * units, units, (k, u) =>
          chain(records, (r) => x[r * width + k]! * d[r * units + u]!),
        );
        expect(bits([y!, dx!, dw!])).toEqual(bits([outputs, ofInput, ofWeights]));
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
    expect(() => model.step(batch, values)).toThrow('number of the batch');
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

test('images are inputs as bytes, with the bits of byte / 255, also in slices', () => {
  const one = CASES[0]!;
  const model = networkOf(one);
  const records = 600;
  const bytes = Uint8Array.from({ length: records * INPUT_WIDTH }, (_, at) => (at * 7) % 256);
  const labels = Float32Array.from({ length: records }, (_, at) => at % 3);
  const batchWith = (values: Uint8Array | Float32Array): Batch => ({
    ...{ records, labels, sparse: [] },
    dense: [{ width: INPUT_WIDTH, values }],
  });
  const values = valuesFor(model, batchWith(bytes), 3);
  const batches = [bytes, Float32Array.from(bytes, (byte) => byte / 255)].map(batchWith);
  const [asBytes, asFloats] = batches.map((batch) => [
    ...bits(model.step(batch, values).dense),
    ...bits([model.evaluate(batch, values).scores, model.classProbabilities!(batch, values)]),
  ]);
  expect(asBytes).toEqual(asFloats);
});
