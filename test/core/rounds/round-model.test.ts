/** The rules of docs/modes.md, held against everything that can happen in a small cluster (`round-model.ts`). */
import { describe, expect, it } from 'vitest';
import { BY_THE_RULE, explore, isLost, ROUNDS, WHAT_IT_NEEDS } from './round-model.ts';
import { run } from './round-shapes.ts';

describe('two pservers, two lanes, three rounds', () => {
  it('any process may die, any message be lost or come twice: it always reaches the end', () => {
    const { states, stuck, ends, rollbacks } = run({ workers: [0, 1], confirming: BY_THE_RULE, restarts: 0 });
    expect(stuck).toEqual([]);
    expect(states).toBeGreaterThan(10_000);
    expect(ends).toBeGreaterThan(0);
    expect(rollbacks).toBe(0);
  });

  it('even when a pserver restarts with what it applied, or loses it and all go back to the cut', () => {
    const { stuck, rollbacks } = run({ workers: [0, 1], confirming: BY_THE_RULE, restarts: 1 });
    expect(stuck).toEqual([]);
    expect(rollbacks).toBe(1);
  });

  it('even when units of shards move between pservers: their lanes are pushed again', () => {
    expect(run({ workers: [0, 1], confirming: BY_THE_RULE, restarts: 0, moves: 2 }).stuck).toEqual([]);
  });

  it('gets stuck when pservers confirm a version and not units: one that is behind moves to one that has', () => {
    const options = {
      workers: [0, 1],
      confirming: BY_THE_RULE,
      restarts: 0,
      moves: 1,
      confirmedBy: 'pserver',
    } as const;
    expect(explore({ ...options, moves: 0 }, () => {}).stuck).toEqual([]);
    expect(explore(options, () => {}).stuck.length).toBeGreaterThan(0);
  });

  it('gets stuck when a unit moves without the version before: a lane of it cannot be computed again', () => {
    const options = { workers: [0, 1], confirming: BY_THE_RULE, restarts: 0, moves: 1, movesWithoutPrevious: true };
    const { stuck } = explore(options, () => {});
    expect(stuck.length).toBeGreaterThan(0);
    for (const state of stuck) expect(isLost(state)).toBe(true);
  });

  it('gets stuck without the rule that every pserver has confirmed a version before a lane of it is pushed', () => {
    const options = { workers: [0, 1], confirming: WHAT_IT_NEEDS, restarts: 0, mayBeginAnew: true };
    let furthest = 0;
    const { stuck } = explore(options, ({ pservers }) => {
      const versions = pservers.map(({ version }) => version);
      furthest = Math.max(furthest, Math.max(...versions) - Math.min(...versions));
    });
    // One pserver went on and dropped what the other one's missing lane is computed from, and that lane's trainer died.
    expect(stuck.length).toBeGreaterThan(0);
    for (const state of stuck) expect(isLost(state)).toBe(true);
    expect(furthest).toBe(ROUNDS);
  });
});
