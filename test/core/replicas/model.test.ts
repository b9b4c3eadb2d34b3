/**
 * The rules of docs/copies.md for replicas, held against everything that can happen to a few copies (model.ts). Each
 * shape is as small as one that still shows what goes wrong without one of the rules (test/mutations/replicas.ts).
 */
import { describe, expect, it } from 'vitest';
import { explore, type Shape } from './model.ts';

const TWO: Shape = { nodes: 2, copies: 2, updates: 1, faults: {} };
const THREE: Shape = { nodes: 3, copies: 3, updates: 1, faults: {} };
const JOINING: Shape = { nodes: 2, copies: 1, updates: 1, faults: { join: 1 } };

/** What shapes reach differs with each rule; how much of it does not matter, except that it is a lot. */
const SHAPES: readonly [string, Shape, fewest: number][] = [
  ['two primaries die one after the other', { ...THREE, faults: { crash: 2 } }, 10_000],
  ['a member is taken out and the primary dies', { ...THREE, faults: { crash: 1, silence: 1 } }, 20_000],
  ['two updates are under way, and a member is taken out', { ...TWO, updates: 2, faults: { silence: 1 } }, 500],
  ['two updates are under way, and the primary dies', { ...TWO, updates: 2, faults: { crash: 1 } }, 500],
  ['a primary is cut off from the store', { ...TWO, faults: { suspend: 1, silence: 1, lostOutcome: 1 } }, 500],
  ['a process joins, and the primary dies', { ...JOINING, faults: { join: 1, crash: 1, lostOutcome: 1 } }, 5_000],
  ['the unit is handed over', { ...TWO, updates: 2, faults: { handOver: 1, lostOutcome: 1 } }, 500],
  ['the unit is handed over, and either side dies', { ...TWO, faults: { handOver: 1, crash: 1, lostOutcome: 1 } }, 500],
  ['a process dies, starts again and joins', { ...TWO, faults: { crash: 1, restart: 1, join: 1 } }, 10_000],
  ['connections are made again', { ...TWO, updates: 2, faults: { reconnect: 1 } }, 500],
];

describe('copies of a unit: one serves, nothing that was acknowledged is lost, nothing counts twice, it ends', () => {
  it.each(SHAPES)('%s', (_, shape, fewest) => {
    const { worlds, isComplete } = explore(shape);
    expect(isComplete).toBe(true);
    expect(worlds).toBeGreaterThan(fewest);
  });
});
