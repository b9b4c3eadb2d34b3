/** What tasks of an evaluation add up to: up to the limit exactly, above it by a histogram, in whatever order. */
import { describe, expect, it } from 'vitest';
import { allAtOnce, PIECE, type Steps } from '../../../src/base/steps.ts';
import type { ScoredTask } from '../../../src/model/metrics.ts';
import { type EvaluationOptions, EvaluationResults } from '../../../src/roles/master/evaluation.ts';

const LIMIT = 40;
const PER_TASK = 10;

/** Task `number` of some, whose scores overlap with those of others; weights are no multiples of powers of two. */
function aTask(number: number, { records = PER_TASK, isWeighted = false, hasGroups = false } = {}): ScoredTask {
  const place = Array.from({ length: records }, (_, at) => number * records + at);
  const scores = Float32Array.from(place, (at) => ((at * 37) % 11) / 11);
  const labels = Float32Array.from(place, (at) => ((at * 53) % 97 < 40 ? 1 : 0));
  const weights = isWeighted ? Float32Array.from(place, (at) => 0.1 + (at % 3)) : undefined;
  const groups = hasGroups ? new Uint8Array(BigUint64Array.from(place, (at) => BigInt(at % 2)).buffer) : undefined;
  const weight = weights === undefined ? records : weights.reduce((sum, one) => sum + one, 0);
  const metrics = { records, weight, loss: 0.1 * (number + 1), correct: weight / 3, squaredError: 0.7 * records };
  return { metrics, scores, labels, weights, groups };
}

const resultsFor = (options: Partial<EvaluationOptions> = {}): EvaluationResults =>
  new EvaluationResults({ task: 'binary', tasks: 1, topK: 3, ...options });

function resultsOf(order: readonly number[], options: Parameters<typeof aTask>[1] = {}, limit = LIMIT) {
  const results = resultsFor({ tasks: Math.max(...order) + 1, exactRecords: limit });
  for (const number of order) results.add(number, aTask(number, options));
  return allAtOnce(results.finish());
}

const upTo = (tasks: number): number[] => Array.from({ length: tasks }, (_, task) => task);
const SHUFFLED = [3, 0, 6, 1, 7, 5, 2, 4];

describe('the area under the curve', () => {
  it('is exact up to the limit, and says that it is bounded above it', () => {
    expect(resultsOf(upTo(4), { hasGroups: true })).toMatchObject({ records: 40, groupedAuc: expect.any(Number) });
    expect(resultsOf(upTo(4))).not.toHaveProperty('aucBound');
    const above = resultsOf(upTo(5), { hasGroups: true });
    expect(above).toMatchObject({ records: 50, auc: expect.any(Number), aucBound: expect.any(Number) });
    expect(above).not.toHaveProperty('groupedAuc');
  });

  it.each([{ isWeighted: false }, { isWeighted: true }])('above the limit it is off by its bound: %o', (options) => {
    const exact = resultsOf(upTo(8), options, 1_000);
    const { auc, aucBound, ...others } = resultsOf(upTo(8), options);
    expect(Math.abs(auc! - exact.auc!)).toBeLessThanOrEqual(aucBound! + 1e-12);
    expect({ ...others, auc: exact.auc }).toEqual(exact);
  });

  it.each([
    ['below the limit', 1_000],
    ['above it', LIMIT],
    ['above it from the first task on', 1],
  ])('does not depend on the order of tasks, as all other figures: %s', (_, limit) => {
    for (const isWeighted of [false, true]) {
      expect(resultsOf(SHUFFLED, { isWeighted }, limit)).toEqual(resultsOf(upTo(8), { isWeighted }, limit));
    }
  });

  it('below the limit, not even with ties of weights whose sums are rounded', () => {
    const finished = (order: readonly number[]) => {
      const results = resultsFor({ tasks: order.length });
      for (const number of order) {
        const task = aTask(number, { isWeighted: true });
        const scores = task.scores.map((_, at) => (at % 2) / 2);
        const places = Float32Array.from({ length: PER_TASK }, (_, at) => number * PER_TASK + at);
        const weights = places.map((at) => (1 + ((at * 0.618) % 1)) * 2 ** ((at * 7) % 40));
        results.add(number, { ...task, scores, weights });
      }
      return allAtOnce(results.finish());
    };
    expect(finished(SHUFFLED)).toEqual(finished(upTo(8)));
  });

  it.each([1_000, LIMIT, 1])('a second result of a task counts nothing, with a limit of %i', (limit) => {
    const twice = [0, 0, 1, 2, 3, 1, 4, 5, 0, 6, 7, 7];
    expect(resultsOf(twice, {}, limit)).toEqual(resultsOf(upTo(8), {}, limit));
  });

  it('without a positive there is none above the limit either', () => {
    const results = resultsFor({ exactRecords: 1 });
    const { labels, ...others } = aTask(0);
    results.add(0, { ...others, labels: labels.fill(0) });
    expect(Object.keys(allAtOnce(results.finish()))).toEqual(['records', 'logloss', 'accuracy', 'rmse']);
  });
});

describe('metrics of groups', () => {
  const hasGroups = true;

  it('are there up to the limit', () => {
    const ranking = { hitRate: expect.any(Number), ndcg: expect.any(Number), topK: 3 };
    expect(resultsOf(upTo(4), { hasGroups })).toMatchObject({ ...ranking, groupedAuc: expect.any(Number) });
    const above = resultsOf(upTo(5), { hasGroups });
    for (const name of ['groupedAuc', 'hitRate', 'ndcg', 'topK']) expect(above).not.toHaveProperty(name);
  });

  it('are of groups that go across tasks, in whatever order these come', () => {
    const results = resultsOf(upTo(8), { hasGroups }, 1_000);
    expect(resultsOf(SHUFFLED, { hasGroups }, 1_000)).toEqual(results);
    const { hitRate, ndcg } = resultsOf([0], { hasGroups, records: 8 * PER_TASK }, 1_000);
    expect(results).toMatchObject({ hitRate, ndcg });
  });
});

it('calibration is Σ weight × score by Σ weight of positives, below and above the limit', () => {
  const tasks = upTo(8).map((number) => aTask(number, { isWeighted: true }));
  let [predicted, positives] = [0, 0];
  for (const { scores, labels, weights } of tasks) {
    scores.forEach((score, at) => {
      predicted += weights![at]! * score;
      positives += weights![at]! * labels[at]!;
    });
  }
  for (const limit of [1_000, LIMIT]) {
    const { calibration } = resultsOf(upTo(8), { isWeighted: true }, limit);
    expect(calibration).toBeCloseTo(predicted / positives, 12);
  }
});

it('other models have neither, whatever their scores', () => {
  const results = resultsFor({ task: 'regression', exactRecords: 1 });
  const task = aTask(0);
  results.add(0, { ...task, scores: task.scores.map((score) => score - 7) });
  expect(allAtOnce(results.finish())).toEqual({ records: 10, rmse: Math.sqrt(0.7) });
});

it('scores of a binary model are probabilities', () => {
  const results = resultsFor();
  for (const score of [-0.01, 1.01]) {
    const scores = Float32Array.from(aTask(0).scores).fill(score, 3, 4);
    expect(() => results.add(0, { ...aTask(0), scores })).toThrow(
      /^evaluation task 0: expected a score from 0 to 1, got -?[01]\.\d+/,
    );
  }
});

describe('in steps', () => {
  const stepsOf = (steps: Steps<unknown>): number => {
    let yielded = 0;
    while (steps.next().done !== true) yielded++;
    return yielded;
  };

  it('a large evaluation yields for each piece of each of its sweeps, a small one never', () => {
    const pieces = 3;
    const results = resultsFor({ tasks: pieces });
    for (const task of upTo(pieces)) results.add(task, aTask(task, { records: PIECE, hasGroups: true }));
    // Among them the digits of three sorts, each counted and moved.
    expect(stepsOf(results.finish())).toBeGreaterThan(15 * (pieces - 1));
    const small = resultsFor();
    small.add(0, aTask(0, { hasGroups: true }));
    expect(stepsOf(small.finish())).toBe(0);
  });

  it('what is left to be counted in a histogram is counted a few tasks at a time', () => {
    const results = resultsFor({ tasks: 9, exactRecords: 8 * PER_TASK });
    for (const task of upTo(9)) results.add(task, aTask(task));
    // Two were when the limit was exceeded.
    expect(stepsOf(results.finish())).toBe(4);
  });
});
