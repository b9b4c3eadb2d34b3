/** The counts that a push may name, against what a trainer makes of the same task. */

import { describe, expect, it } from 'vitest';
import { createPushPlan, type PushPlanOptions, whyContradicts } from '../../../src/core/shard/push-plan.ts';
import * as fc from '../../properties.ts';

/** Two tasks of 10 records and one of 5, pushes of 4 records. */
const JOB: PushPlanOptions = {
  ...{ records: 25, tasks: 3, recordsPerTask: 10, batchSize: 2, pushEvery: 2, maxBadRecords: 1 },
};
const plan = createPushPlan(JOB);
const push = (task: number, number: number, good: number, last = false) => {
  return { pass: 0, task, push: number, last, good };
};

describe('the plan of the pushes', () => {
  it('has the records of each task, and of each push', () => {
    expect([0, 1, 2, 3].map((task) => plan.recordsOf(task))).toEqual([10, 10, 5, 0]);
    expect([0, 1, 2].map((task) => plan.pushesOf(task))).toEqual([3, 3, 2]);
    expect([0, 1, 2].map((number) => plan.recordsUpTo(0, number))).toEqual([4, 8, 10]);
  });

  it.each([
    ['of every record', push(0, 0, 4)],
    ['with as many bad records as a task may have', push(0, 1, 7)],
    ['that is the last', push(2, 1, 5, true)],
  ])('takes a push %s', (_, one) => {
    expect(plan.whyUnplanned(one)).toBeUndefined();
  });

  it.each([
    ['more good records than there are', push(0, 0, 5), '5 good records of 4'],
    ['more bad records than a task may have', push(0, 0, 2), '2 good records of 4, and data.maxBadRecords is 1'],
    ['a last push that comes early', push(0, 0, 4, true), 'the last push of the task is 2'],
    ['a last push that is none', push(0, 2, 10, false), 'the last push of the task is 2'],
    ['a push beyond the last', push(2, 2, 5, true), 'the task has 2 pushes'],
  ])('refuses %s', (_, one, why) => {
    expect(plan.whyUnplanned(one)).toBe(why);
  });

  it('takes all that a trainer pushes, whatever the shape of the job and wherever the bad records are', () => {
    const shape = fc.record({
      recordsPerTask: fc.integer({ min: 1, max: 12 }),
      batchSize: fc.integer({ min: 1, max: 5 }),
      pushEvery: fc.integer({ min: 1, max: 4 }),
      good: fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
    });
    fc.assert(
      fc.property(shape, ({ recordsPerTask, batchSize, pushEvery, good }) => {
        const tasks = Math.ceil(good.length / recordsPerTask);
        const all = { records: good.length, tasks, recordsPerTask, batchSize, pushEvery, maxBadRecords: 40 };
        const some = createPushPlan(all);
        for (let task = 0; task < tasks; task++) {
          const records = good.slice(task * recordsPerTask, (task + 1) * recordsPerTask);
          expect(some.recordsOf(task)).toBe(records.length);
          let applied = { next: 0, good: 0 };
          for (let number = 0; number < some.pushesOf(task); number++) {
            const end = (number + 1) * batchSize * pushEvery;
            const goodSoFar = records.slice(0, end).filter(Boolean).length;
            const one = push(task, number, goodSoFar, end >= records.length);
            expect(some.whyUnplanned(one)).toBeUndefined();
            expect(whyContradicts(some, one, applied)).toBeUndefined();
            applied = { next: number + 1, good: goodSoFar };
            expect(whyContradicts(some, one, applied)).toBeUndefined();
          }
        }
      }),
    );
  });
});

describe('attempts that count the same push differently', () => {
  it('are found by a push that another attempt has made', () => {
    expect(whyContradicts(plan, push(0, 0, 3), { next: 1, good: 4 })).toBe(
      '3 good records up to push 0, where 4 are applied',
    );
  });

  it('are found by the push that follows', () => {
    const lies = [push(0, 1, 3), push(0, 1, 8)].map((one) => whyContradicts(plan, one, { next: 1, good: 3 }));
    expect(lies).toEqual([undefined, '8 good records up to push 1, where 3 are applied and the push has 4 records']);
    expect(whyContradicts(plan, push(0, 1, 2), { next: 1, good: 3 })).toMatch(/^2 good records up to push 1, /);
  });

  it('are not looked for where the ledger keeps no count', () => {
    expect(whyContradicts(plan, push(0, 0, 3), { next: 2, good: 8 })).toBeUndefined();
    expect(whyContradicts(plan, push(0, 2, 10, true), { next: 1, good: 3 })).toBeUndefined();
  });
});
