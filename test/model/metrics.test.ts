import { describe, expect, test } from 'vitest';
import { allAtOnce } from '../../src/base/steps.ts';
import { binaryLogLoss, finishMetrics, mergeMetrics, noMetrics, scoreMetrics } from '../../src/model/metrics.ts';
import { NO_GROUP, type ScoredRecords } from '../../src/model/model.ts';
import { orderMetrics } from '../../src/model/order-metrics.ts';
import * as fc from '../properties.ts';

/** Over all pairs, as Mann and Whitney define it, each as much as its weights say. */
function naiveAuc(
  scores: readonly number[],
  labels: readonly number[],
  weights: readonly number[] = labels.map(() => 1),
): number | undefined {
  let wins = 0;
  let pairs = 0;
  scores.forEach((positive, i) => {
    if (labels[i] !== 1) return;
    scores.forEach((negative, j) => {
      if (labels[j] !== 0) return;
      const weight = weights[i]! * weights[j]!;
      pairs += weight;
      wins += weight * (positive > negative ? 1 : positive === negative ? 0.5 : 0);
    });
  });
  return pairs === 0 ? undefined : wins / pairs;
}

const score = fc.oneof(
  fc.constantFrom(0, -0, 0.25, 0.5, 1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.float({ noNaN: true }),
);

interface Row {
  readonly score: number;
  readonly label: number;
  readonly weight?: number;
  readonly group?: bigint;
}

/** Weights and groups where the first row has one. */
const scored = (rows: readonly Row[]): ScoredRecords => ({
  scores: Float32Array.from(rows, (row) => row.score),
  labels: Float32Array.from(rows, ({ label }) => label),
  weights: rows[0]?.weight === undefined ? undefined : Float32Array.from(rows, ({ weight }) => weight!),
  groups:
    rows[0]?.group === undefined ? undefined : new Uint8Array(BigUint64Array.from(rows, ({ group }) => group!).buffer),
});

const areaUnderCurve = (records: ScoredRecords) => allAtOnce(orderMetrics(records, 10)).auc;
const groupedAuc = (records: ScoredRecords) => allAtOnce(orderMetrics(records, 10)).groupedAuc;

describe('the area under the curve', () => {
  test('is that of all pairs', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(score, fc.constantFrom(0, 1)), { maxLength: 60 }), (rows) => {
        const scores = rows.map(([s]) => s);
        const labels = rows.map(([, label]) => label);
        expect(areaUnderCurve(scored(rows.map(([s, label]) => ({ score: s, label }))))).toBe(naiveAuc(scores, labels));
      }),
      { numRuns: 500 },
    );
  });

  test('is that of all pairs with their weights', () => {
    const row = fc.record({ score, label: fc.constantFrom(0, 1), weight: fc.constantFrom(0, 0.5, 1, 3) });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 60 }), (rows) => {
        const [scores, labels, weights] = [
          rows.map((one) => one.score),
          rows.map(({ label }) => label),
          rows.map(({ weight }) => weight),
        ];
        const expected = naiveAuc(scores, labels, weights);
        const area = areaUnderCurve(scored(rows));
        expect(area).toEqual(expected === undefined ? undefined : expect.closeTo(expected, 12));
      }),
      { numRuns: 300 },
    );
  });

  test('of equal weights is that without weights, to the bit', () => {
    const rows = [0.1, 0.4, 0.35, 0.8, 0.4].map((one, at) => ({ score: one, label: at % 2 }));
    expect(areaUnderCurve(scored(rows.map((row) => ({ ...row, weight: 1 }))))).toBe(areaUnderCurve(scored(rows)));
  });

  test('known values', () => {
    const auc = (scores: number[], labels: number[]) =>
      areaUnderCurve(scored(scores.map((one, at) => ({ score: one, label: labels[at]! }))));
    expect(auc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])).toBe(0.75);
    expect(auc([0.5, 0.5], [0, 1])).toBe(0.5);
    expect(auc([0.1, 0.9], [1, 1])).toBeUndefined();
    expect(auc([], [])).toBeUndefined();
  });
});

describe('the area by group', () => {
  const rows: Row[] = [
    { score: 0.9, label: 1, group: 7n },
    { score: 0.8, label: 0, group: 2n ** 64n - 2n },
    { score: 0.1, label: 0, group: 7n },
    { score: 0.7, label: 1, group: 2n ** 64n - 2n },
    { score: 0.6, label: 0, group: 2n ** 64n - 2n },
    // One kind alone, and none at all.
    { score: 0.2, label: 1, group: 3n },
    { score: 0.1, label: 1, group: NO_GROUP },
    { score: 0.9, label: 0, group: NO_GROUP },
  ];

  test('is the mean of all groups with both kinds, by their records', () => {
    expect(groupedAuc(scored(rows))).toBe((2 * 1 + 3 * 0.5) / 5);
  });

  test('counts records as their weights say', () => {
    const weights = [2, 1, 2, 1, 3, 9, 9, 9];
    const weighted = rows.map((row, at) => ({ ...row, weight: weights[at]! }));
    expect(groupedAuc(scored(weighted))).toBeCloseTo((4 * 1 + 5 * 0.75) / 9, 12);
  });

  test('is left out without groups, and where no group has both kinds', () => {
    expect(groupedAuc(scored(rows.map(({ score: one, label }) => ({ score: one, label }))))).toBeUndefined();
    expect(groupedAuc(scored(rows.slice(5)))).toBeUndefined();
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
  const sums = { records: 4, weight: 4, loss: 2, correct: 3, squaredError: 1 };
  const ofScores = { auc: 0.75, calibration: 1.5 };

  test('each task has its metrics', () => {
    expect(finishMetrics('binary', sums, ofScores)).toEqual({
      ...{ records: 4, logloss: 0.5, auc: 0.75, accuracy: 0.75, rmse: 0.5, calibration: 1.5 },
    });
    expect(finishMetrics('multiclass', sums, ofScores)).toEqual({ records: 4, logloss: 0.5, accuracy: 0.75 });
    expect(finishMetrics('regression', sums, ofScores)).toEqual({ records: 4, rmse: 0.5 });
  });

  test('what cannot be said is left out', () => {
    expect(finishMetrics('binary', sums, {})).toEqual({ records: 4, logloss: 0.5, accuracy: 0.75, rmse: 0.5 });
    expect(finishMetrics('binary', noMetrics, {})).toEqual({ records: 0 });
    expect(finishMetrics('binary', { ...noMetrics, records: 3 }, ofScores)).toEqual({ records: 3 });
  });

  test('records count as their weights say', () => {
    const weighted = { ...sums, weight: 8 };
    expect(finishMetrics('multiclass', weighted, {})).toEqual({ records: 4, logloss: 0.25, accuracy: 0.375 });
  });

  test('sums merge field by field', () => {
    expect(mergeMetrics(mergeMetrics(noMetrics, sums), sums)).toEqual({
      records: 8,
      weight: 8,
      loss: 4,
      correct: 6,
      squaredError: 2,
    });
  });
});

describe('what is made of scores', () => {
  // Probabilities whose f32 are exact.
  const rows: Row[] = [
    { score: 0.125, label: 0 },
    { score: 0.5, label: 0 },
    { score: 0.25, label: 1 },
    { score: 0.875, label: 1 },
  ];

  test('calibration is predicted by true positives', () => {
    expect(scoreMetrics(scored(rows))).toEqual({ auc: 0.75, calibration: 1.75 / 2 });
  });

  test('with weights', () => {
    const weights = [2, 1, 4, 0];
    const weighted = rows.map((row, at) => ({ ...row, weight: weights[at]!, group: 1n }));
    const area = (2 * 4) / (3 * 4);
    expect(scoreMetrics(scored(weighted))).toEqual({
      ...{ auc: area, groupedAuc: area, hitRate: 1, ndcg: expect.closeTo(1 / Math.log2(3), 12), topK: 10 },
      calibration: 1.75 / 4,
    });
  });

  test('without a positive that weighs something there is none', () => {
    expect(scoreMetrics(scored(rows.map((row) => ({ ...row, weight: 1 - row.label }))))).toEqual({});
    expect(scoreMetrics(scored([]))).toEqual({});
  });
});
