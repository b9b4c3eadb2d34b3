/**
 * Admission, eviction, bounds and deltas (docs/decisions/0168): whatever happens to the processes of a job, a shard is
 * what its own updates make of it. Each rule has a mutation in test/mutations/endless.ts.
 */
import { expect, it } from 'vitest';
import * as fc from '../properties.ts';
import { MODES, PAIRS, runWorld, sum } from './worlds.ts';

let counts: ReadonlyMap<string, number> = new Map();

/** In async mode and in sync mode; with one copy or with two, by turns. */
const CHOSEN = PAIRS.flatMap((pair, at) =>
  [MODES[at % 2]!, MODES[2 + (at % 2)]!].map((mode) => ({ ...mode, ...pair, pair, mode, seed: at })),
);

it.each(CHOSEN)('$names: $mode.mode, copies: $copies', ({ pair, mode, seed }) => {
  const run = fc.property(fc.nat(), (one) => {
    counts = sum(counts, runWorld(one, pair, mode));
  });
  // No shrinking: a world with a smaller seed is not simpler.
  fc.assert(run, { numRuns: 3, examples: [[seed]], endOnFailure: true });
});

/** So that no rule holds only because nothing happened. */
const EVENTS = [
  ...['update', 'discard', 'move', 'copy', 'catch up', 'hand over', 'kill', 'restart', 'go back'],
  ...['whole copy', 'changes', 'refused', 'deleted', 'chain loaded'],
  ...['admitted', 'not admitted', 'evicted for a bound', 'evicted as unseen'],
  ...['row refused for a bound', 'candidate refused for a bound', 'base moved'],
];

it.each(EVENTS)('"%s" happens in the worlds', (event) => {
  expect(counts.get(event)).toBeGreaterThan(10);
});
