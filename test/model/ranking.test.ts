/** Hit rate and NDCG of the first k records of each group, over all orders of those that tie. */
import { describe, expect, it } from 'vitest';
import { allAtOnce, PIECE } from '../../src/base/steps.ts';
import { NO_GROUP } from '../../src/model/model.ts';
import { orderMetrics } from '../../src/model/order-metrics.ts';
import * as fc from '../properties.ts';

interface Row {
  readonly group: bigint;
  readonly score: number;
  readonly label: number;
  readonly weight?: number;
}

function rankingOf(rows: readonly Row[], topK: number) {
  const scored = {
    scores: Float32Array.from(rows, ({ score }) => score),
    labels: Float32Array.from(rows, ({ label }) => label),
    weights: rows[0]?.weight === undefined ? undefined : Float32Array.from(rows, ({ weight = 1 }) => weight),
    groups: new Uint8Array(BigUint64Array.from(rows, ({ group }) => group).buffer),
  };
  const { auc: _, groupedAuc: __, ...ranking } = allAtOnce(orderMetrics(scored, topK));
  return ranking;
}

/** Of one group: scores and labels in pairs. */
const group = (id: bigint, ...records: readonly (readonly [score: number, label: number])[]): Row[] =>
  records.map(([score, label]) => ({ group: id, score, label }));

// At k = 2, with g = 1 / log2(3), what rank 2 gains; rank 1 gains 1 / log2(2) = 1.
const G = 1 / Math.log2(3);
const ROWS: readonly Row[] = [
  // A negative, then 3 tied records with 2 positives, of which one is at rank 2, and a positive further down.
  ...group(7n, [0.1, 1], [0.5, 1], [0.9, 0], [0.5, 0], [0.5, 1]),
  // Fewer than k.
  ...group(2n ** 64n - 2n, [0.3, 1]),
  // Two positives, of which the second is at rank 3.
  ...group(3n, [0.4, 1], [0.8, 1], [0.6, 0]),
  // One positive among 3 tied records at ranks 1 to 3.
  ...group(9n, [0.2, 0], [0.2, 1], [0.2, 0]),
  // No positive, and no group.
  ...group(4n, [0.7, 0], [0.5, 0]),
  ...group(NO_GROUP, [0.9, 1], [0.1, 0]),
];

describe('by hand', () => {
  it('the hit rate is the share of groups with a positive among the first k', () => {
    // Group 7: 1 − C(1, 1) / C(3, 1) = 2/3. Group 9: 1 − C(2, 2) / C(3, 2) = 2/3. The two others: 1.
    expect(rankingOf(ROWS, 2).hitRate).toBeCloseTo((2 / 3 + 1 + 1 + 2 / 3) / 4, 14);
  });

  it('NDCG is what the positives gain by what they gain in the best order', () => {
    // Group 7: 2/3 × g of 1 + g, as 2 of its 3 positives have room. Group 3: 1 of 1 + g. Group 9: (1 + g) / 3 of 1.
    expect(rankingOf(ROWS, 2).ndcg).toBeCloseTo(((2 / 3) * (G / (1 + G)) + 1 + 1 / (1 + G) + (1 + G) / 3) / 4, 14);
  });

  it('k is told, and neither is there when no group has a positive', () => {
    expect(rankingOf(ROWS, 2).topK).toBe(2);
    expect(rankingOf(ROWS.slice(12), 2)).toEqual({});
    expect(rankingOf([], 2)).toEqual({});
  });

  it('equal scores get what chance gives; −0 and 0 are equal', () => {
    const rows = Array.from({ length: 10 }, (_, at) => ({
      group: 1n,
      score: at % 2 ? -0 : 0,
      label: at === 0 ? 1 : 0,
    }));
    expect(rankingOf(rows, 3).hitRate).toBeCloseTo(3 / 10, 14);
    expect(rankingOf(rows, 3).ndcg).toBeCloseTo((1 + G + 1 / 2) / 10, 14);
  });

  it('groups that differ in one half of their ids are two', () => {
    const halves = [1n, 1n + 2n ** 32n, 2n].flatMap((id) => group(id, [0.9, 1], [0.5, 0]));
    expect(rankingOf([...halves, ...group(1n, [0.95, 0])], 1)).toMatchObject({ hitRate: 2 / 3, ndcg: 2 / 3 });
  });
});

/** All orders of the records, with the highest scores first. */
function ordersOf(rows: readonly Row[]): Row[][] {
  if (rows.length === 0) return [[]];
  const highest = Math.max(...rows.map(({ score }) => score));
  return rows.flatMap((first, at) =>
    first.score === highest ? ordersOf(rows.toSpliced(at, 1)).map((rest) => [first, ...rest]) : [],
  );
}

const gainOf = (labels: readonly number[], topK: number): number =>
  labels.slice(0, topK).reduce((sum, label, at) => sum + label / Math.log2(at + 2), 0);

function naiveRanking(rows: readonly Row[], topK: number) {
  const counted = rows.filter(({ weight }) => weight !== 0);
  const groups = [...Map.groupBy(counted, (row) => row.group).values()].filter((of) =>
    of.some(({ label }) => label === 1),
  );
  if (groups.length === 0) return {};
  const meanOf = <T>(all: readonly T[], value: (one: T) => number): number =>
    all.reduce((sum, one) => sum + value(one), 0) / all.length;
  const hitRate = meanOf(groups, (of) =>
    meanOf(ordersOf(of), (order) => (order.slice(0, topK).some(({ label }) => label === 1) ? 1 : 0)),
  );
  const ndcg = meanOf(groups, (of) => {
    const labels = of.map(({ label }) => label);
    const best = gainOf(
      labels.toSorted((a, b) => b - a),
      topK,
    );
    return (
      meanOf(ordersOf(of), (order) =>
        gainOf(
          order.map(({ label }) => label),
          topK,
        ),
      ) / best
    );
  });
  return { hitRate: expect.closeTo(hitRate, 12), ndcg: expect.closeTo(ndcg, 12), topK };
}

/** Of one group up to six records, whose orders are few enough to try. */
const smallGroup = (id: bigint) =>
  fc.array(
    fc.record({
      group: fc.constant(id),
      score: fc.constantFrom(0.25, 0.5, 0.75),
      label: fc.constantFrom(0, 1),
      weight: fc.constantFrom(0, 0.5, 1, 3),
    }),
    { maxLength: 6 },
  );
const smallGroups = fc.tuple(smallGroup(5n), smallGroup(2n), smallGroup(2n ** 40n)).map((groups) => groups.flat());

it('is the mean over all orders of tied records, without those of weight 0', () => {
  fc.assert(
    fc.property(smallGroups, fc.integer({ min: 1, max: 7 }), (rows, topK) => {
      expect(rankingOf(rows, topK)).toEqual(naiveRanking(rows, topK));
    }),
    { numRuns: 200 },
  );
});

it('of the best order NDCG is 1, to the bit', () => {
  for (let positives = 1; positives <= 40; positives++) {
    const rows = Array.from({ length: 50 }, (_, at) => ({
      group: 1n,
      score: 1 - at / 64,
      label: at < positives ? 1 : 0,
    }));
    expect(rankingOf(rows, 20)).toEqual({ hitRate: 1, ndcg: 1, topK: 20 });
  }
});

it('does not depend on the order of records, to the bit', () => {
  const rows = Array.from({ length: 2_000 }, (_, at) => ({
    group: BigInt((at * 37) % 211),
    score: ((at * 53) % 17) / 17,
    label: (at * 29) % 13 < 3 ? 1 : 0,
  }));
  const expected = rankingOf(rows, 4);
  expect(expected.ndcg).toBeGreaterThan(0);
  for (const step of [3, 77, 1_999]) {
    const shuffled = rows.map((_, at) => rows[(at * step) % rows.length]!);
    expect(rankingOf(shuffled, 4)).toEqual(expected);
  }
});

it('a group may go across pieces, and so may records that tie', () => {
  const tied = PIECE + 10;
  const rows = [
    ...group(1n, [0.5, 1], [0.4, 0], [0.3, 0]),
    ...group(2n, [0.9, 0]),
    ...Array.from({ length: tied }, (_, at) => ({ group: 2n, score: 0.5, label: at === 7 ? 1 : 0 })),
    ...group(3n, [0.4, 0], [0.8, 0], [0.3, 1]),
  ];
  const { hitRate, ndcg } = rankingOf(rows, 2);
  // Group 2 has a place left at rank 2.
  expect(hitRate).toBeCloseTo((1 + 1 / tied) / 3, 14);
  expect(ndcg).toBeCloseTo((1 + G / tied) / 3, 14);
});
