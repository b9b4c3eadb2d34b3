/**
 * Copies that are made for processes that join, with the machines of the replicas (docs/copies.md), held against
 * everything that can happen (join-model.ts). Larger shapes are in join-model.nightly.test.ts.
 */
import { describe, it } from 'vitest';
import type { Shape } from './join-model.ts';
import { expectComplete } from './join-shapes.ts';

const TWO = { nodes: 2, updates: 1 };

/** How much shapes reach does not matter, except that it is a lot. */
const SHAPES: readonly [string, Shape, fewest: number][] = [
  ['either side dies, or the copy is no longer needed', { ...TWO, faults: { join: 1, crash: 1, abandon: 1 } }, 5_000],
  ['the primary loses its index', { ...TWO, faults: { join: 1, suspend: 1, lostOutcome: 1 } }, 20_000],
  ['the join is ended while it may have succeeded', { ...TWO, faults: { join: 1, giveUp: 1, lostOutcome: 1 } }, 5_000],
];

describe('a copy for a process that joins: it has all that counts, no member of the head is without one, it ends', () => {
  it.each(SHAPES)('%s', (_, shape, fewest) => expectComplete(shape, fewest));
});
