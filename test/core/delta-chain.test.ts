import { expect, it } from 'vitest';
import { type DeltaChain, isDeltaNext, MOST_DELTAS, withLink } from '../../src/core/delta-chain.ts';

const RULES = { baseIntervalMs: 600_000, maxShare: 0.5 };
const base = (nowMs = 0): DeltaChain => withLink(undefined, { isDelta: false, bytes: 1000 }, nowMs);
const grown = (chain: DeltaChain, bytes: number, times = 1): DeltaChain =>
  times === 0 ? chain : grown(withLink(chain, { isDelta: true, bytes }, 1), bytes, times - 1);

it('the first file of a process is a base, and the next a delta', () => {
  expect(isDeltaNext(undefined, RULES, 0)).toBe(false);
  expect(isDeltaNext(base(), RULES, 1)).toBe(true);
});

it('a base is due when its interval is over, counted from the last base', () => {
  expect(isDeltaNext(grown(base(), 1), RULES, 599_999)).toBe(true);
  expect(isDeltaNext(grown(base(), 1), RULES, 600_000)).toBe(false);
  expect(isDeltaNext(withLink(base(), { isDelta: false, bytes: 7 }, 600_000), RULES, 600_001)).toBe(true);
});

it('a base is due when the deltas on it have more than their share of its bytes, or are many', () => {
  expect(isDeltaNext(grown(base(), 250, 2), RULES, 1)).toBe(true);
  expect(isDeltaNext(grown(base(), 251, 2), RULES, 1)).toBe(false);
  expect(isDeltaNext(grown(base(), 1, MOST_DELTAS - 1), RULES, 1)).toBe(true);
  expect(isDeltaNext(grown(base(), 1, MOST_DELTAS), RULES, 1)).toBe(false);
});
