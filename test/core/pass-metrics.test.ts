import { expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import {
  addPassMetrics,
  addRound,
  endedPasses,
  PASSES_SAMPLED,
  type PassMetrics,
  passIn,
  ROUNDS_SAMPLED,
  samplesIn,
} from '../../src/core/pass-metrics.ts';
import type { MetricSums } from '../../src/model/model.ts';

const sums = (records: number): MetricSums => {
  return { records, weight: records, loss: records / 10, correct: records - 1, squaredError: records / 4 };
};

const addAll = (all: readonly (readonly [pass: number, records: number])[]): PassMetrics[] =>
  all.reduce<PassMetrics[]>((before, [pass, records]) => addPassMetrics(before, pass, sums(records)), []);

/** What a pserver has after so many rounds of two lanes, ten of them a pass. */
function afterRounds(rounds: number): PassMetrics[] {
  let metrics: PassMetrics[] = [];
  for (let round = 0; round < rounds; round++) {
    const position = { pass: Math.floor(round / 10) };
    const batches = [sums(2), sums(3)].map((lane) => ({ position, metrics: lane }));
    metrics = addRound(metrics, round + 1, batches);
  }
  return metrics;
}

it('adds up by pass', () => {
  const added = addAll([
    [0, 10],
    [0, 20],
  ]);
  expect(added).toEqual([{ pass: 0, records: 30, weight: 30, loss: 3, correct: 28, squaredError: 7.5 }]);
});

it('has the pass in work and the one before it, and others at a distance that doubles', () => {
  const kept = addAll(Array.from({ length: 2 * PASSES_SAMPLED + 2 }, (_, pass) => [pass, 10 + pass]));
  const passes = kept.map(({ pass }) => pass);
  expect(passes.slice(-4)).toEqual([
    2 * PASSES_SAMPLED - 5,
    2 * PASSES_SAMPLED - 1,
    2 * PASSES_SAMPLED,
    2 * PASSES_SAMPLED + 1,
  ]);
  expect(passes.slice(0, 2)).toEqual([3, 7]);
  expect(kept.map(({ pass, records }) => records - pass)).toEqual(kept.map(() => 10));
});

it('a rollback to the pass before goes on with what the cut had of it', () => {
  const cut = addAll([[3, 10]]);
  const further = addPassMetrics(addPassMetrics(cut, 3, sums(5)), 4, sums(7));
  expect(further.map(({ pass, records }) => [pass, records])).toEqual([
    [3, 15],
    [4, 7],
  ]);
  expect(addPassMetrics(cut, 3, sums(5))).toEqual([further[0]]);
  expect(cut).toEqual(addAll([[3, 10]]));
});

it('samples the sums of the whole job at every round, then at every second one, and so on', () => {
  const few = samplesIn(afterRounds(25));
  expect(few.map(({ version }) => version)).toEqual(Array.from({ length: 25 }, (_, at) => at + 1));
  expect(few.map(({ records }) => records)).toEqual(few.map(({ version }) => 5 * version));
  expect(few.at(-1)).toMatchObject({ pass: 2, loss: expect.closeTo(12.5) });
  const many = samplesIn(afterRounds(3 * ROUNDS_SAMPLED + 1));
  expect(many.map(({ version }) => version)).toEqual(many.map((_, at) => 4 * (at + 1)));
  expect(many.map(({ records }) => records)).toEqual(many.map(({ version }) => 5 * version));
  expect(many).toHaveLength((3 * ROUNDS_SAMPLED) / 4);
});

it('tells passes from samples', () => {
  const metrics = afterRounds(25);
  expect(passIn(metrics, 1)).toMatchObject({ pass: 1, records: 50 });
  expect(passIn(metrics, 1)).not.toHaveProperty('version');
  expect(endedPasses(metrics, 2).map(({ pass, records }) => [pass, records])).toEqual([
    [0, 50],
    [1, 50],
  ]);
});

it('never has more than a message and a file have room for', () => {
  let most = 0;
  for (let metrics = afterRounds(0), round = 0; round < 3000; round++) {
    metrics = addRound(metrics, round + 1, [{ position: { pass: round }, metrics: sums(1) }]);
    most = Math.max(most, metrics.length);
  }
  expect(most).toBeLessThanOrEqual(LIMITS.keptMetrics);
  expect(most).toBeGreaterThan(ROUNDS_SAMPLED);
});
