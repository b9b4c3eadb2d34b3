/**
 * The rules of docs/copies.md for moves, held against everything that can happen in a small cluster
 * (`move-model.ts`). `scripts/move-model.ts` takes larger shapes.
 */
import { describe, expect, it } from 'vitest';
import { explore, type Shape } from './move-model.ts';

const NOTHING: Shape = { updates: 1, moves: 1, crashes: 0, lostAnswers: 0, abandons: 0 };

describe('a unit that moves between two pservers: one serves it, nothing that was acknowledged is lost, it ends', () => {
  it('when messages are lost, late or repeated, and outcomes of the store are unknown', () => {
    const { worlds, ends, highestEpoch } = explore({ ...NOTHING, updates: 2, lostAnswers: 1 });
    expect(worlds).toBeGreaterThan(40_000);
    expect(ends).toBeGreaterThan(0);
    expect(highestEpoch).toBe(2);
  });

  it('when either side dies at any step, and starts again', () => {
    const { worlds, highestEpoch } = explore({ ...NOTHING, crashes: 1, abandons: 1 });
    expect(worlds).toBeGreaterThan(60_000);
    expect(highestEpoch).toBe(3);
  });

  it('when it moves again, or back, while all of the move before is still under way', () => {
    const { worlds, highestEpoch } = explore({ ...NOTHING, moves: 2 });
    expect(worlds).toBeGreaterThan(100_000);
    expect(highestEpoch).toBe(3);
  });
});
