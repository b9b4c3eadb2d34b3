/** The largest shapes of round-model.test.ts. */
import { expect, it } from 'vitest';
import { BY_THE_RULE } from './round-model.ts';
import { run } from './round-shapes.ts';

it('reaches the end when pservers restart twice, with what they applied or without it', () => {
  const { stuck, rollbacks } = run({ workers: [0, 1], confirming: BY_THE_RULE, restarts: 2 });
  expect(stuck).toEqual([]);
  expect(rollbacks).toBe(2);
});

it('reaches the end when two trainers compute one lane', () => {
  expect(run({ workers: [0, 1, 1], confirming: BY_THE_RULE, restarts: 0 }).stuck).toEqual([]);
});
