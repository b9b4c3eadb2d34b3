/** Shards with equal ledgers are kept as one, however they are told of updates. */

import { expect, it } from 'vitest';
import { LedgerGroups } from '../../../src/core/shard/ledger-groups.ts';
import * as fc from '../../properties.ts';

const SHARDS = Array.from({ length: 24 }, (_, shard) => shard);
const told = fc.array(fc.subarray(SHARDS), { minLength: 10, maxLength: 40 });

function tell(groups: LedgerGroups, push: number, shards: readonly number[]): void {
  for (const { ledger } of groups.part(shards)) ledger.advance({ pass: 0, task: 0, push, last: false, good: push });
  groups.mergeIfMany();
}

it('there are few of them when some shards are told of each update before the others', () => {
  fc.assert(
    fc.property(told, (updates) => {
      const groups = new LedgerGroups(1, SHARDS, new Map());
      updates.forEach((first, push) => {
        tell(groups, push, first);
        tell(
          groups,
          push,
          SHARDS.filter((shard) => !first.includes(shard)),
        );
        // Each update makes two ledgers of one for a moment.
        expect(groups.all.length).toBeLessThanOrEqual(6);
      });
      groups.merge();
      expect(
        groups.all.map(({ shards, ledger }) => [[...shards].sort((a, b) => a - b), ledger.position(0, 0)]),
      ).toEqual([[SHARDS, updates.length]]);
    }),
  );
});

it('those that part again and again in the same way are left apart, and what they share is not copied', () => {
  const groups = new LedgerGroups(1, SHARDS, new Map());
  const halves = [SHARDS.filter((shard) => shard % 2 === 0), SHARDS.filter((shard) => shard % 2 === 1)];
  for (const half of halves) tell(groups, 0, half);
  const apart = groups.all.map(({ ledger }) => ledger);
  expect(apart.length).toBe(2);
  for (let push = 1; push < 10; push++) for (const half of halves) tell(groups, push, half);
  expect(groups.all.map(({ ledger }) => ledger)).toEqual(apart);
  expect(groups.all.every(({ ledger }, at) => ledger === apart[at])).toBe(true);
});

it('a group is found by each of its shards, whatever has come and gone', () => {
  const groups = new LedgerGroups(1, [1, 2, 3], new Map());
  tell(groups, 0, [2]);
  expect(groups.of(2)!.ledger.position(0, 0)).toBe(1);
  expect(groups.of(3)!.ledger.position(0, 0)).toBe(0);
  groups.remove([2]);
  expect(groups.of(2)).toBeUndefined();
  groups.add([2, 5], new Map());
  expect(groups.of(2)).toBe(groups.of(1));
  expect(groups.among([5, 2, 9]).map(({ shards }) => shards)).toEqual([[5, 2]]);
  groups.remove([1, 2, 3, 5]);
  expect(groups.all.map(({ shards }) => shards)).toEqual([[]]);
  expect(groups.part([1])).toEqual([]);
});
