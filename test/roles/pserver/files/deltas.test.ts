/**
 * Files with changes only: a base and the deltas on it, loaded one after the other, are the shards as they were when
 * the last one was captured, with candidates, `seen` and looks.
 */
import { expect, it } from 'vitest';
import * as fc from '../../../properties.ts';
import { counts, runScene } from './delta-scene.ts';

it.each(['async', 'sync'] as const)('are the shards as they were, in %s mode', async (mode) => {
  await fc.assert(
    fc.asyncProperty(fc.nat(2 ** 31), (seed) => runScene(seed, mode)),
    { numRuns: 30 },
  );
  for (const [what, times] of Object.entries(counts)) if (what !== 'views') expect(times, what).toBeGreaterThan(0);
});
