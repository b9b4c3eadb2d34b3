/** Gradients that are no numbers: the job fails, or they are 0 and the norm of what is left is bounded. */
import { expect, test } from 'vitest';
import type { Gradients } from '../../../../src/cluster/client/parameter-client.ts';
import { modelOf } from '../../../../src/cluster/job/job-model.ts';
import {
  GradientCheck,
  type GradientRules,
  gradientCheckOf,
} from '../../../../src/roles/trainer/compute/gradient-check.ts';
import { aJob, recordOf } from '../../../cluster/job/stored-job.ts';

const { NaN: none, POSITIVE_INFINITY: infinite } = Number;
const gradientsOf = (dense: number[], ...sparse: number[][]): Gradients => ({
  dense: [Float32Array.from(dense)],
  sparse: sparse.map((values) => Float32Array.from(values)),
  ids: [],
});
const valuesOf = ({ dense, sparse }: Gradients): number[] => [...dense, ...sparse].flatMap((values) => [...values]);

const clipTo = (maxGradientNorm: number): GradientRules => ({ onBadGradient: 'clip', maxGradientNorm });
const FAIL: GradientRules = { onBadGradient: 'fail' };

function checked(gradients: Gradients, rules: GradientRules): { values: number[]; warnings: unknown[][] } {
  const warnings: unknown[][] = [];
  new GradientCheck(rules, { warn: (...what) => void warnings.push(what) }, []).check(gradients, () => 'f:1 to 9');
  return { values: valuesOf(gradients), warnings };
}

test.each([none, infinite, -infinite])('%d fails, and the records are named', (value) => {
  for (const bad of [gradientsOf([value], [1]), gradientsOf([1], [2], [3, value])]) {
    for (const rules of [FAIL, { ...FAIL, maxGradientNorm: 1 }]) {
      expect(() => checked(bad, rules)).toThrow('the gradient of f:1 to 9 has NaN or infinite values');
    }
  }
});

test('without a bound a gradient stays as it is, however large', () => {
  expect(checked(gradientsOf([3e38], [-3e38]), FAIL).values).toEqual(valuesOf(gradientsOf([3e38], [-3e38])));
});

test('the norm is that of all parameters together', () => {
  // 2² + 3² + 6² = 7²
  const scaled = [2, -3, 6].map((value) => Math.fround(value * (3.5 / (7 + 1e-6))));
  for (const rules of [clipTo(3.5), { ...FAIL, maxGradientNorm: 3.5 }]) {
    expect(checked(gradientsOf([2], [-3], [6]), rules)).toEqual({ values: scaled, warnings: [] });
  }
});

test('a norm that is not above the bound changes nothing', () => {
  expect(checked(gradientsOf([2], [-3], [6]), clipTo(7.1)).values).toEqual([2, -3, 6]);
});

test('what is not finite counts as 0, and the rest is clipped', () => {
  const { values, warnings } = checked(gradientsOf([none, 3], [infinite, 0], [-infinite, -4]), clipTo(2.5));
  const [three, four] = [3, -4].map((value) => Math.fround(value * (2.5 / (5 + 1e-6))));
  expect(values).toEqual([0, three, 0, 0, 0, four]);
  expect(warnings).toEqual([['the gradient of f:1 to 9 has NaN or infinite values: they count as 0', { soFar: 1 }]]);
});

test('the squares of the largest floats have a sum', () => {
  expect(checked(gradientsOf([3e38, 3e38], [3e38]), clipTo(1)).values).toEqual(
    Array(3).fill(Math.fround(1 / Math.sqrt(3))),
  );
});

test('statistics are neither clipped nor part of the norm, and finite', () => {
  const shape = { shape: [2], initializer: { type: 'zeros' } } as const;
  const dense = [
    { name: 'W', ...shape },
    { name: 'mean', ...shape, statisticRate: 0.1 },
  ];
  const gradients = { dense: [Float32Array.of(3, 4), Float32Array.of(100, none)], sparse: [], ids: [] };
  new GradientCheck(clipTo(2.5), { warn: () => {} }, dense).check(gradients, () => 'f:1');
  const scaled = [3, 4].map((value) => Math.fround(value * (2.5 / (5 + 1e-6))));
  expect(valuesOf(gradients)).toEqual([...scaled, 100, 0]);
});

test('a trainer clips to the norm of the job, and leaves the statistics of its model as they are', () => {
  const job = aJob({
    data: { train: 'images-idx3-ubyte', format: 'idx' },
    model: { type: 'mlp', hidden: [3], normalization: 'batch' },
    training: { onBadGradient: 'clip', maxGradientNorm: 0.5 },
  });
  const model = modelOf(recordOf(job));
  const dense = model.parameters.dense.map(({ shape }) => new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(9));
  gradientCheckOf(job, model, { warn: () => {} }).check({ dense, sparse: [], ids: [] }, () => 'f:1');
  const kept = model.parameters.dense.filter((_, at) => dense[at]!.every((value) => value === 9));
  expect(kept.map(({ name }) => name)).toEqual(['hidden1.norm.mean', 'hidden1.norm.variance', 'hidden1.norm.seen']);
  const learned = dense.filter((_, at) => model.parameters.dense[at]!.statisticRate === undefined);
  expect(Math.hypot(...learned.flatMap((values) => [...values]))).toBeCloseTo(0.5, 5);
});

test('of many bad gradients few are logged, with their count', () => {
  const counts: unknown[] = [];
  const check = new GradientCheck(clipTo(1), { warn: (_, facts) => void counts.push(facts?.soFar) }, []);
  for (let push = 0; push < 100; push++) {
    check.check(gradientsOf([push % 2 === 0 ? none : 1]), () => 'f:1');
  }
  expect(counts).toEqual([1, 2, 4, 8, 16, 32]);
});

test('metrics that are not finite count for nothing, but their records are there', () => {
  const sums = { records: 3, weight: 3, loss: 1, correct: 2, squaredError: 0.5 };
  const check = new GradientCheck(clipTo(1), { warn: () => {} }, []);
  expect(check.metricsOf(sums)).toBe(sums);
  for (const bad of [{ loss: none }, { squaredError: infinite }]) {
    const counted = { records: 3, weight: 0, loss: 0, correct: 0, squaredError: 0 };
    expect(check.metricsOf({ ...sums, ...bad })).toEqual(counted);
    expect(
      new GradientCheck({ ...FAIL, maxGradientNorm: 1 }, { warn: () => {} }, []).metricsOf({ ...sums, ...bad }),
    ).toMatchObject(bad);
  }
});
