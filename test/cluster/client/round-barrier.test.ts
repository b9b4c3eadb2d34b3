import { expect, test } from 'vitest';
import { RoundBarrier } from '../../../src/cluster/client/round-barrier.ts';
import { placedAt, placementOf } from './placed.ts';

test('all are past a version only when each unit was seen past it, on that timeline', () => {
  const versions = new RoundBarrier();
  const placement = placementOf(placedAt(0, [0, 2]), placedAt(1, [1]));
  const at = { timeline: 3, version: 7 };
  versions.observe(placedAt(0, [0, 2]), { timeline: 3, version: 8 });
  expect(versions.areAllPast(placement, at)).toBe(false);
  versions.observe(placedAt(1, [1]), { timeline: 3, version: 7 });
  expect(versions.areAllPast(placement, at)).toBe(false);
  versions.observe(placedAt(1, [1]), { timeline: 3, version: 8 });
  expect(versions.areAllPast(placement, at)).toBe(true);
  // Answers may cross.
  versions.observe(placedAt(1, [1]), { timeline: 3, version: 7 });
  expect(versions.areAllPast(placement, at)).toBe(true);
  expect(versions.areAllPast(placement, { timeline: 2, version: 7 })).toBe(false);
  versions.observe(placedAt(0, [0, 2]), { timeline: 4, version: 8 });
  expect(versions.areAllPast(placement, at)).toBe(false);
});

test('a unit that was not confirmed is not, though it moves to a pserver that was', () => {
  const versions = new RoundBarrier();
  const at = { timeline: 3, version: 7 };
  versions.observe(placedAt(0, [0]), { timeline: 3, version: 8 });
  versions.observe(placedAt(1, [1, 2]), { timeline: 3, version: 7 });
  versions.observe(placedAt(1, [1]), { timeline: 3, version: 8 });
  expect(versions.areAllPast(placementOf(placedAt(0, [0, 2]), placedAt(1, [1])), at)).toBe(false);
});

test('a unit that was confirmed is, whichever pserver leads it', () => {
  const versions = new RoundBarrier();
  for (const index of [0, 1]) versions.observe(placedAt(index, [index]), { timeline: 3, version: 8 });
  const at = { timeline: 3, version: 7 };
  expect(versions.areAllPast(placementOf(placedAt(0, [0, 1], 2)), at)).toBe(true);
  expect(versions.areAllPast(placementOf(placedAt(5, [0]), placedAt(1, [1])), at)).toBe(true);
});
