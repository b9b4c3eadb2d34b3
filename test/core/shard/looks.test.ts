/** When a shard looks for what is unseen. test/roles/pserver/held/evictions.test.ts compares whole histories. */
import { expect, test } from 'vitest';
import {
  type Eviction,
  isStateOf,
  LOOK_SPREAD,
  type LookState,
  Looks,
  SEEN_RANGE,
} from '../../../src/core/shard/looks.ts';

const looksOf = (shard: number, ...evictions: readonly Eviction[]): Looks =>
  new Looks({ shards: 4, evictions, seenRange: SEEN_RANGE, spread: LOOK_SPREAD }, shard);

test('a pass that was discarded whole begins at the first update of a later pass', () => {
  const looks = looksOf(0, { unseenPasses: 1 });
  looks.begin(0, 0, 0);
  looks.after(1, 0, 1);
  looks.after(2, 1, 1);
  // Pass 1 is closed without an update.
  looks.after(3, 1, 2);
  looks.begin(2, 3, 2);
  expect(looks.state().begins).toEqual([
    [1, 3],
    [2, 3],
  ]);
  expect(looks.after(4, 2, 2).removals).toEqual([{ table: 0, seen: 3 }]);
});

test('a pass whose begin is not known yet removes nothing', () => {
  const looks = looksOf(0, { unseenPasses: 1 });
  looks.after(1, 0, 1);
  expect(looks.state()).toMatchObject({ begins: [], lookAt: [2] });
  expect(looks.after(2, 1, 1)).toEqual({ removals: [], lowerSeenBy: undefined });
  expect(looks.state()).toMatchObject({ lookAt: [undefined] });
});

test('the looks of the shards are spread over 64 updates, and come again each eighth of the updates', () => {
  const lookedAt = [0, 1, 2, 3].map((shard) => {
    const looks = looksOf(shard, { unseenUpdates: 1600 });
    return Array.from({ length: 2000 }, (_, at) => at + 1).filter((seq) => looks.after(seq, 0, 0).removals.length > 0);
  });
  expect(lookedAt).toEqual([
    [1601, 1801],
    [1617, 1817],
    [1633, 1833],
    [1649, 1849],
  ]);
});

test('without a table that counts passes no begin is kept', () => {
  const looks = looksOf(0, { unseenUpdates: 8 });
  looks.begin(3, 0, 0);
  expect(looks.state().begins).toEqual([]);
});

test('the base moves by half the range, before the highest `seen` that a row can have', () => {
  const seq = SEEN_RANGE - 2 * LOOK_SPREAD;
  const looks = new Looks({ shards: 1, evictions: [], seenRange: SEEN_RANGE, spread: LOOK_SPREAD }, 0);
  expect(looks.after(seq - 1, 0, 0).lowerSeenBy).toBeUndefined();
  expect(looks.after(seq, 0, 0).lowerSeenBy).toBeUndefined();
  expect(looks.after(seq + 1, 0, 0).lowerSeenBy).toBe(2 ** 31);
  expect(looks.base).toBe(2 ** 31);
  expect(looks.state()).toEqual({ base: 2 ** 31, moveAt: undefined, begins: [], lookAt: [] });
  const last = seq + 1 + 2 ** 31;
  expect(looks.after(last - 1, 0, 0).lowerSeenBy).toBeUndefined();
  expect(looks.after(last, 0, 0).lowerSeenBy).toBe(2 ** 31);
});

test('a state that does not fit the rules or the updates is told apart', () => {
  const rules = { shards: 4, evictions: [{ unseenPasses: 1 }, undefined], seenRange: SEEN_RANGE, spread: LOOK_SPREAD };
  const state: LookState = { base: 0, moveAt: undefined, begins: [[1, 90]], lookAt: [101, undefined] };
  const fits = (changes: Partial<LookState>): boolean => isStateOf(rules, { ...state, ...changes }, 100);
  expect(fits({})).toBe(true);
  expect(fits({ moveAt: 164, base: 100 })).toBe(true);
  for (const changes of [
    { base: 101 },
    { moveAt: 100 },
    { lookAt: [100, undefined] },
    { lookAt: [165, undefined] },
    { lookAt: [undefined, 110] },
    { lookAt: [undefined] },
    { begins: [[1, 101]] as const },
  ])
    expect(fits(changes), JSON.stringify(changes)).toBe(false);
});
