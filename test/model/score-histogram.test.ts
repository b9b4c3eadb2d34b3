/** The area by bins is off by its bound at most, and does not depend on the order of records. */
import { describe, expect, test } from 'vitest';
import { allAtOnce } from '../../src/base/steps.ts';
import type { ScoredRecords } from '../../src/model/model.ts';
import { orderMetrics } from '../../src/model/order-metrics.ts';
import { ScoreHistogram } from '../../src/model/score-histogram.ts';
import * as fc from '../properties.ts';

interface Row {
  readonly score: number;
  readonly label: number;
  readonly weight: number;
}

const scored = (rows: readonly Row[], isWeighted = true): ScoredRecords => ({
  scores: Float32Array.from(rows, (row) => row.score),
  labels: Float32Array.from(rows, ({ label }) => label),
  weights: isWeighted ? Float32Array.from(rows, ({ weight }) => weight) : undefined,
  groups: undefined,
});

function areaOf(parts: readonly ScoredRecords[]) {
  const histogram = new ScoreHistogram();
  for (const part of parts) histogram.add(part);
  return histogram.area();
}

/** Many in few bins, some at their borders. */
const row = fc.record({
  score: fc.oneof(
    fc.constantFrom(0, -0, 0.5, 1),
    fc.double({ min: 0.5, max: 0.5002, noNaN: true }),
    fc.float({ min: 0, max: 1, noNaN: true }),
  ),
  label: fc.constantFrom(0, 1),
  weight: fc.constantFrom(0, 0.25, 1, 3, 10),
});

describe('the area by a histogram', () => {
  test('is off by its bound at most', () => {
    let mostOff = 0;
    fc.assert(
      fc.property(fc.array(row, { minLength: 20, maxLength: 60 }), fc.boolean(), (rows, isWeighted) => {
        const all = scored(rows, isWeighted);
        const exact = allAtOnce(orderMetrics(all, 10)).auc;
        const area = areaOf([all]);
        expect(area === undefined).toBe(exact === undefined);
        if (area === undefined || exact === undefined) return;
        const off = Math.abs(area.auc - exact);
        mostOff = Math.max(mostOff, off);
        expect(off).toBeLessThanOrEqual(area.aucBound + 1e-12);
      }),
      { numRuns: 20 },
    );
    // Otherwise the bound was not put to the test.
    expect(mostOff).toBeGreaterThan(0.01);
  });

  test('is exact where no bin has both kinds, and ½ where all are in one', () => {
    const apart = [0.1, 0.2, 0.3, 0.4].map((score, at) => ({ score, label: at % 2, weight: 1 }));
    expect(areaOf([scored(apart)])).toEqual({ auc: 0.75, aucBound: 0 });
    const together = [0.5, 0.50001].map((score, label) => ({ score, label, weight: 7 }));
    expect(areaOf([scored(together)])).toEqual({ auc: 0.5, aucBound: 0.5 });
    expect(areaOf([scored(together.slice(1))])).toBeUndefined();
  });

  test('has the same bits in any order, with weights as sampling makes them', () => {
    const weights = [1, 1 / 0.3, 1 / 0.07, 0.02];
    const rows = Array.from({ length: 2_000 }, (_, at) => ({
      ...{ score: 0.5 + (at % 7) * 1e-6, label: at % 3 === 0 ? 1 : 0, weight: weights[at % 4]! },
    }));
    const forwards = areaOf([scored(rows)]);
    expect(areaOf([scored(rows.slice(700).reverse()), scored(rows.slice(0, 700))])).toEqual(forwards);
    expect(forwards!.aucBound).toBeGreaterThan(0);
  });

  test('scores beyond 0 to 1 are none of a histogram', () => {
    expect(() => areaOf([scored([{ score: 1.001, label: 1, weight: 1 }])])).toThrow('scores are from 0 to 1');
  });
});
