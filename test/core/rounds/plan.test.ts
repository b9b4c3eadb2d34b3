/**
 * (round, lane) → records is a function of the job alone, and every record has its place once a pass (docs/modes.md).
 */

import { describe, expect, it } from 'vitest';
import {
  createRoundPlan,
  type LaneBatch,
  type RoundPlan,
  type RoundPlanOptions,
} from '../../../src/core/rounds/plan.ts';
import * as fc from '../../properties.ts';
import { plainPlan } from '../../sync/plain-plan.ts';

const anyJob: fc.Arbitrary<RoundPlanOptions> = fc.record({
  taskRecords: fc.array(fc.nat(20), { minLength: 1, maxLength: 30 }).map((records) => Uint32Array.from(records)),
  batchSize: fc.integer({ min: 1, max: 8 }),
  passes: fc.integer({ min: 1, max: 4 }),
  lanes: fc.integer({ min: 1, max: 9 }),
  seed: fc.nat(),
});

const roundsOf = (plan: RoundPlan, { passes }: RoundPlanOptions): number => plan.firstOf(passes);

function everyBatch(plan: RoundPlan, job: RoundPlanOptions): (LaneBatch | undefined)[][] {
  return Array.from({ length: roundsOf(plan, job) }, (_, round) =>
    Array.from({ length: job.lanes }, (_, lane) => plan.batchOf(round, lane)),
  );
}

describe('the plan of the rounds', () => {
  it('is what the document says', () => {
    fc.assert(
      fc.property(anyJob, (job) => {
        expect(everyBatch(createRoundPlan(job), job)).toEqual(plainPlan(job).flat());
      }),
    );
  });

  it('has every record of every task once a pass, in batches of the task, one after the other', () => {
    fc.assert(
      fc.property(anyJob, (job) => {
        const seen = new Map<string, LaneBatch[]>();
        for (const batch of everyBatch(createRoundPlan(job), job).flat()) {
          if (batch === undefined) continue;
          const name = `${batch.pass}/${batch.task}`;
          seen.set(name, [...(seen.get(name) ?? []), batch]);
        }
        expect(seen.size).toBe(job.passes * job.taskRecords.length);
        for (const batches of seen.values()) {
          let at = 0;
          batches.forEach(({ push, from, to, last }, i) => {
            expect([push, from, last]).toEqual([i, at, i === batches.length - 1]);
            expect(to - from).toBeLessThanOrEqual(job.batchSize);
            at = to;
          });
          expect(at).toBe(job.taskRecords[batches[0]!.task]);
        }
      }),
    );
  });

  it('has lanes that are empty only when they have nothing left in the pass, and no round without any', () => {
    fc.assert(
      fc.property(anyJob, (job) => {
        const plan = createRoundPlan(job);
        const batches = everyBatch(plan, job);
        for (let pass = 0; pass < job.passes; pass++) {
          const rounds = batches.slice(plan.firstOf(pass), plan.firstOf(pass + 1));
          expect(rounds.every((lanes) => lanes.some((batch) => batch !== undefined))).toBe(true);
          for (let lane = 0; lane < job.lanes; lane++) {
            const first = rounds.findIndex((lanes) => lanes[lane] === undefined);
            if (first !== -1) expect(rounds.slice(first).every((lanes) => lanes[lane] === undefined)).toBe(true);
          }
        }
      }),
    );
  });

  it('is the same in whatever order it is asked', () => {
    fc.assert(
      fc.property(
        anyJob,
        fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
        (job, dice) => {
          const all = everyBatch(createRoundPlan(job), job);
          const other = createRoundPlan(job);
          for (let i = 0; i < 40; i++) {
            const round = Math.floor(dice.next().value * (all.length + 3));
            const lane = Math.floor(dice.next().value * job.lanes);
            expect(other.batchOf(round, lane)).toEqual(all[round]?.[lane]);
          }
        },
      ),
    );
  });

  it('numbers rounds through all passes', () => {
    fc.assert(
      fc.property(anyJob, (job) => {
        const plan = createRoundPlan(job);
        let round = 0;
        for (let pass = 0; pass < job.passes; pass++) {
          expect(plan.firstOf(pass)).toBe(round);
          for (let within = 0; within < plan.roundsOf(pass); within++) {
            expect(plan.placeOf(round)).toEqual({ pass, round: within });
            round += 1;
          }
        }
        expect(plan.firstOf(job.passes)).toBe(round);
        expect(plan.placeOf(round)).toBeUndefined();
        expect(plan.batchOf(round, 0)).toBeUndefined();
      }),
    );
  });

  it('deals other records together in each pass and for each seed', () => {
    const job = { taskRecords: new Uint32Array(100).fill(64), batchSize: 64, passes: 3, lanes: 4, seed: 1 };
    const tasksOf = (options: RoundPlanOptions): string[] => {
      const plan = createRoundPlan(options);
      const batches = everyBatch(plan, options);
      return [0, 1, 2].map((pass) =>
        JSON.stringify(
          batches
            .slice(plan.firstOf(pass), plan.firstOf(pass + 1))
            .flat()
            .map((batch) => batch!.task),
        ),
      );
    };
    expect(new Set([...tasksOf(job), ...tasksOf({ ...job, seed: 2 })]).size).toBe(6);
  });

  it('of a million tasks and the most lanes answers from anywhere', () => {
    const tasks = 1_000_000;
    const taskRecords = Uint32Array.from({ length: tasks }, (_, task) => 1 + (task % 1_000));
    const job = { taskRecords, batchSize: 128, passes: 1_000, lanes: 4_096, seed: 2 ** 40 + 3 };
    const plan = createRoundPlan(job);
    const first = plan.roundsOf(0);
    expect(plan.placeOf(first - 1)).toEqual({ pass: 0, round: first - 1 });
    expect(plan.placeOf(first)).toEqual({ pass: 1, round: 0 });
    for (const lane of [0, 1, 4_095]) {
      const batch = plan.batchOf(first, lane)!;
      expect(batch).toMatchObject({ pass: 1, push: 0, from: 0 });
      expect(batch.to).toBe(Math.min(128, taskRecords[batch.task]!));
    }
  });
});
