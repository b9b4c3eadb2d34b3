/** The share of the learning rate by rounds. */
import { expect, it } from 'vitest';
import { roundShares } from '../../src/core/round-shares.ts';
import { createRoundPlan } from '../../src/core/rounds/plan.ts';
import { rateShareAt } from '../../src/core/shard/schedule.ts';

const JOB = { taskRecords: Uint32Array.of(4, 4, 2), batchSize: 2, lanes: 2, seed: 1 };
const plan = createRoundPlan({ ...JOB, passes: 2 });
const schedule = { type: 'constant', warmup: { passes: 2, from: 0.5 } } as const;

it('is that of the part of the pass that is over, and in the end that of all passes', () => {
  const shareOf = roundShares(schedule, plan, 2);
  const [first, second] = [plan.roundsOf(0), plan.roundsOf(1)];
  expect(first).toBeGreaterThan(1);
  const shares = Array.from({ length: first + second + 1 }, (_, round) => shareOf(round));
  const progress = [
    ...Array.from({ length: first }, (_, round) => round / first),
    ...Array.from({ length: second }, (_, round) => 1 + round / second),
    2,
  ];
  expect(shares).toEqual(progress.map((done) => rateShareAt(schedule, done)));
});

it('is the same when more passes are planned', () => {
  const [few, many] = [
    roundShares(schedule, plan, 2),
    roundShares(schedule, createRoundPlan({ ...JOB, passes: 5 }), 5),
  ];
  for (let round = 0; round < plan.firstOf(2); round++) expect(many(round)).toBe(few(round));
});

it('is 1 without a schedule', () => {
  expect([0, 3, 99].map(roundShares(undefined, plan, 2))).toEqual([1, 1, 1]);
});
