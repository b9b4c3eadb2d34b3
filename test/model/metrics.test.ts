import { describe, expect, test } from 'vitest';
import { areaUnderCurve, binaryLogLoss, finishMetrics, mergeMetrics, noMetrics } from '../../src/model/metrics.ts';
import * as fc from '../properties.ts';

/** Over all pairs, as Mann and Whitney define it. */
function naiveAuc(scores: readonly number[], labels: readonly number[]): number | undefined {
  let wins = 0;
  let pairs = 0;
  scores.forEach((positive, i) => {
    if (labels[i] !== 1) return;
    scores.forEach((negative, j) => {
      if (labels[j] !== 0) return;
      pairs++;
      wins += positive > negative ? 1 : positive === negative ? 0.5 : 0;
    });
  });
  return pairs === 0 ? undefined : wins / pairs;
}

const score = fc.oneof(
  fc.constantFrom(0, -0, 0.25, 0.5, 1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.float({ noNaN: true }),
);

describe('the area under the curve', () => {
  test('is that of all pairs', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(score, fc.constantFrom(0, 1)), { maxLength: 60 }), (rows) => {
        const scores = rows.map(([s]) => s);
        const labels = rows.map(([, label]) => label);
        expect(areaUnderCurve(Float32Array.from(scores), Float32Array.from(labels))).toBe(naiveAuc(scores, labels));
      }),
      { numRuns: 500 },
    );
  });

  test('known values', () => {
    const auc = (scores: number[], labels: number[]) =>
      areaUnderCurve(Float32Array.from(scores), Float32Array.from(labels));
    expect(auc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])).toBe(0.75);
    expect(auc([0.5, 0.5], [0, 1])).toBe(0.5);
    expect(auc([0.1, 0.9], [1, 1])).toBeUndefined();
    expect(auc([], [])).toBeUndefined();
  });
});

describe('log loss', () => {
  test('is −ln of the probability of the label, clipped to [1e-15, 1 − 1e-15]', () => {
    // Of the label itself: 1 − p would lose the digits that matter here.
    const formula = (z: number, y: number): number => {
      const p = 1 / (1 + Math.exp(y === 1 ? -z : z));
      return -Math.log(Math.min(Math.max(p, 1e-15), 1 - 1e-15));
    };
    for (const z of [-800, -40, -20, -3, -0.1, 0, 0.1, 3, 20, 800]) {
      for (const y of [0, 1])
        expect(Math.abs(binaryLogLoss(z, y) - formula(z, y))).toBeLessThan(1e-6 * (1 + formula(z, y)));
    }
    expect(binaryLogLoss(1e6, 0)).toBeCloseTo(34.538776, 6);
    expect(binaryLogLoss(1e6, 1)).toBe(1e-15);
  });
});

describe('finishing', () => {
  const sums = { records: 4, loss: 2, correct: 3, squaredError: 1 };
  const scores = Float32Array.of(0.1, 0.4, 0.35, 0.8);
  const labels = Float32Array.of(0, 0, 1, 1);

  test('each task has its metrics', () => {
    expect(finishMetrics('binary', sums, scores, labels)).toEqual({
      records: 4,
      logloss: 0.5,
      auc: 0.75,
      accuracy: 0.75,
      rmse: 0.5,
    });
    expect(finishMetrics('multiclass', sums, scores, labels)).toEqual({ records: 4, logloss: 0.5, accuracy: 0.75 });
    expect(finishMetrics('regression', sums, scores, labels)).toEqual({ records: 4, rmse: 0.5 });
  });

  test('what cannot be said is left out', () => {
    expect(
      finishMetrics(
        'binary',
        sums,
        scores,
        labels.map(() => 1),
      ),
    ).not.toHaveProperty('auc');
    expect(finishMetrics('binary', noMetrics, new Float32Array(0), new Float32Array(0))).toEqual({ records: 0 });
  });

  test('sums merge field by field', () => {
    expect(mergeMetrics(mergeMetrics(noMetrics, sums), sums)).toEqual({
      records: 8,
      loss: 4,
      correct: 6,
      squaredError: 2,
    });
  });
});
