/** How units are spread over pservers, from the keys of the store. */
import { beforeEach, expect, it } from 'vitest';
import { type Spread, spreadOf } from '../../../src/cluster/placement/spread.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aStore } from '../../roles/master/tasks/service-rig.ts';
import { keys, MB, SpreadRig } from './spread-rig.ts';

const UNITS = 4;

let data: MemoryStoreData;
let rig: SpreadRig;
beforeEach(() => {
  data = aStore().data;
  rig = new SpreadRig(data);
});

const under = (prefix: string) => data.range({ prefix }).entries;
const spread = (desired: number): Spread =>
  spreadOf(
    keys,
    { units: UNITS, desired },
    {
      owners: under(keys.psPrefix),
      heads: under(keys.headsPrefix),
      records: under(keys.pserversPrefix),
    },
  );

it('of even pservers: nothing is to move', () => {
  rig.twoEven();
  expect(spread(2)).toEqual({
    units: UNITS,
    pservers: [
      { index: 0, status: 'up', isLeaving: false, units: 2, copies: 0, bytes: 2 * MB, labels: {} },
      {
        index: 1,
        status: 'up',
        isLeaving: false,
        units: 2,
        copies: 0,
        bytes: 2 * MB,
        labels: { hostLabel: 'a7', zone: 'a' },
      },
    ],
    ...{ missing: [], orphans: 0, toMove: 0, lacking: [], isTold: true },
  });
});

it('more are wanted: those that are missing, then what is to move to them', () => {
  rig.twoEven();
  expect(spread(4)).toMatchObject({ missing: [2, 3], toMove: 0 });
  rig.claim(2);
  expect(spread(4)).toMatchObject({ missing: [3], toMove: 1, pservers: [{}, {}, { status: undefined, units: 0 }] });
  rig.claim(3);
  expect(spread(4)).toMatchObject({ missing: [], toMove: 2 });
});

it('fewer are wanted: all units of those that leave are to move', () => {
  rig.twoEven();
  expect(spread(1)).toMatchObject({ missing: [], toMove: 2, pservers: [{ isLeaving: false }, { isLeaving: true }] });
});

it('one that is being stopped gives its units away, and none goes to it', () => {
  rig.twoEven();
  rig.tell(0, { 0: MB, 2: MB }, { status: 'draining' });
  expect(spread(2)).toMatchObject({ toMove: 2, pservers: [{ isLeaving: true }, { isLeaving: false }] });
});

it('units whose primary is gone are orphans, even when its index has another owner', () => {
  rig.twoEven();
  rig.write({ delete: keys.ps(1) });
  expect(spread(2)).toMatchObject({ missing: [1], orphans: 2, toMove: 0 });
  rig.claim(1);
  // What the one before said of itself is not believed of this one.
  expect(spread(2)).toMatchObject({ missing: [], orphans: 2, pservers: [{}, { status: undefined, units: 0 }] });
});

it('is told when each primary has said how large its units are', () => {
  rig.twoEven();
  rig.lead(0, 1);
  expect(spread(2)).toMatchObject({
    isTold: false,
    pservers: [
      { units: 3, bytes: 3 * MB },
      { units: 1, bytes: MB },
    ],
  });
  rig.tell(0, { 0: MB, 1: MB, 2: MB });
  expect(spread(2)).toMatchObject({ isTold: true, toMove: 1 });
});

it('of units with copies: who has them, and which units lack some', () => {
  rig.twoEven();
  rig.copy(0, 1);
  const { pservers, lacking } = spreadOf(
    keys,
    { units: UNITS, desired: 2, copies: { replicas: 2, minInSync: 1 } },
    { owners: under(keys.psPrefix), heads: under(keys.headsPrefix), records: under(keys.pserversPrefix) },
  );
  expect(pservers.map(({ units, copies }) => [units, copies])).toEqual([
    [2, 0],
    [2, 1],
  ]);
  expect(lacking).toEqual([1, 2, 3].map((unit) => ({ unit, copies: 1 })));
});
