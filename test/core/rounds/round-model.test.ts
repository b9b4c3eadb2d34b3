/** The rules of docs/design.md §6, held against everything that can happen in a small cluster (`round-model.ts`). */
import { describe, expect, it } from 'vitest';
import {
  BY_THE_RULE,
  explore,
  isEnd,
  isLost,
  isOneTimeline,
  LANES,
  lowestVersion,
  type ModelOptions,
  type ModelState,
  ROUNDS,
  WHAT_IT_NEEDS,
} from './round-model.ts';

/** What holds in every state while trainers keep to the rule. */
function inspect(state: ModelState, seen: { ends: number; rollbacks: number }): void {
  if (isEnd(state)) seen.ends += 1;
  seen.rollbacks = Math.max(seen.rollbacks, state.timeline);
  for (const { version, folded, here, keepsPrevious, restarted } of state.pservers) {
    // Every lane of every round before this version was applied, once.
    if (folded !== 2 ** (LANES * version) - 1) throw new Error('a version is not made of its rounds');
    // A unit that moves has lost the lanes that show why.
    const isExcused = restarted || state.moves > 0;
    if (!keepsPrevious && here === 0 && version > state.cut && !isExcused) throw new Error('a version went too early');
  }
  if (!isOneTimeline(state)) return;
  const highest = Math.max(...state.pservers.map(({ version }) => version));
  if (highest - lowestVersion(state) > 1) throw new Error('pservers are more than a round apart');
  const restarted = state.pservers.some((one) => one.restarted);
  if (!restarted && isLost(state)) throw new Error('a lane that is wanted cannot be computed any more');
}

function run(options: ModelOptions): { states: number; stuck: readonly ModelState[]; ends: number; rollbacks: number } {
  const seen = { ends: 0, rollbacks: 0 };
  return { ...explore(options, (state) => inspect(state, seen)), ...seen };
}

describe('two pservers, two lanes, three rounds', () => {
  it('any process may die, any message be lost or come twice: it always reaches the end', () => {
    const { states, stuck, ends, rollbacks } = run({ workers: [0, 1], confirming: BY_THE_RULE, restarts: 0 });
    expect(stuck).toEqual([]);
    expect(states).toBeGreaterThan(10_000);
    expect(ends).toBeGreaterThan(0);
    expect(rollbacks).toBe(0);
  });

  it('even when two trainers compute one lane', () => {
    expect(run({ workers: [0, 1, 1], confirming: BY_THE_RULE, restarts: 0 }).stuck).toEqual([]);
  });

  it('even when pservers restart with what they applied, or lose it and all go back to the cut', () => {
    const { stuck, rollbacks } = run({ workers: [0, 1], confirming: BY_THE_RULE, restarts: 2 });
    expect(stuck).toEqual([]);
    expect(rollbacks).toBe(2);
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
