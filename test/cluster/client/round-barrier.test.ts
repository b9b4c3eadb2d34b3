import { expect, test } from 'vitest';
import { RoundBarrier } from '../../../src/cluster/client/round-barrier.ts';

const pserver = (index: number, token: bigint) => ({
  index,
  token,
  address: 'nowhere',
  stamp: { revision: '1', shards: 1 },
});
const placementOf = (...pservers: ReturnType<typeof pserver>[]) => ({
  version: 1,
  primaryOf: new Int32Array(2),
  pservers,
});

test('all pservers are past a version only when each of these very owners was seen past it, on that timeline', () => {
  const versions = new RoundBarrier();
  const placement = placementOf(pserver(0, 1n), pserver(1, 2n));
  const at = { timeline: 3, version: 7 };
  versions.observe(pserver(0, 1n), { timeline: 3, version: 8 });
  expect(versions.areAllPast(placement, at)).toBe(false);
  versions.observe(pserver(1, 2n), { timeline: 3, version: 7 });
  expect(versions.areAllPast(placement, at)).toBe(false);
  versions.observe(pserver(1, 2n), { timeline: 3, version: 8 });
  expect(versions.areAllPast(placement, at)).toBe(true);
  expect(versions.areAllPast(placement, { timeline: 2, version: 7 })).toBe(false);
  expect(versions.areAllPast(placementOf(pserver(0, 1n), pserver(1, 9n)), at)).toBe(false);
});
