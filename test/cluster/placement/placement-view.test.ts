/** The placement: complete when every unit has a live primary. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takenBy } from '../../../src/cluster/placement/heads.ts';
import { followPlacement, type PlacementView } from '../../../src/cluster/placement/placement-view.ts';
import { stampOf } from '../../../src/core/placement.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aStore, Master } from '../../roles/master/tasks/service-rig.ts';

/** Unit 0 has the shards 0 and 3, unit 1 has 1 and 4, unit 2 has 2. */
const JOB = { units: 3, shards: 5 };

let data: MemoryStoreData;
let master: Master;
let view: PlacementView;
let ends: Error[];

beforeEach(() => {
  const store = aStore();
  data = store.data;
  master = new Master(store.clock, data);
  ends = [];
  data.txn({ if: [], then: [{ put: master.context.keys.psDesired, value: '2' }] });
});
afterEach(() => view.cancel());

const begin = async (): Promise<void> => {
  view = followPlacement(master.context, JOB, (error) => ends.push(error));
  await settle();
};
const settle = (): Promise<void> => master.clock.advance(0);
const put = async (key: string, value: string): Promise<bigint> => {
  const { revision } = data.txn({ if: [], then: [{ put: key, value }] });
  await settle();
  return revision;
};
const desire = (pservers: number) => put(master.context.keys.psDesired, String(pservers));
const claim = (index: number) => put(master.context.keys.ps(index), `host:${index}`);
const take = (unit: number, index: number, token: bigint, epoch = 1) =>
  put(
    master.context.keys.head(unit),
    JSON.stringify(takenBy({ index, token: token.toString() }, { epoch: epoch - 1 })),
  );

describe('the number of pservers', () => {
  it('may change: what is missing then is said by it', async () => {
    await begin();
    expect(view.desired()).toBe(2);
    expect(view.missing()).toBe('pserver 0, 1 (0 of 2 are running)');
    await desire(1);
    expect(view.missing()).toBe('pserver 0 (0 of 1 are running)');
    await claim(0);
    expect(view.missing()).toBe('pservers to take 3 of 3 units of shards');
    expect(ends).toEqual([]);
  });

  it('is waited for', async () => {
    data.txn({ if: [], then: [{ delete: master.context.keys.psDesired }] });
    await begin();
    expect(view.isLoaded()).toBe(false);
    expect(view.missing()).toBe('the store');
    expect(view.orphans()).toEqual([]);
    await desire(2);
    expect(view.isLoaded()).toBe(true);
  });
});

describe('a placement', () => {
  it('is complete when each unit has a live primary, however many pservers there are', async () => {
    await begin();
    expect(view.missing()).toBe('pserver 0, 1 (0 of 2 are running)');
    const token = await claim(1);
    expect(view.missing()).toBe('pserver 0 (1 of 2 are running)');
    for (const unit of [0, 1, 2]) await take(unit, 1, token, 4);
    const { pservers, primaryOf } = view.current()!;
    expect([...primaryOf]).toEqual([0, 0, 0, 0, 0]);
    const units = [0, 1, 2].map((unit) => ({ unit, led: 4 }));
    const stamp = stampOf(units, JOB);
    expect(pservers).toEqual([{ index: 1, address: 'host:1', token, stamp, units }]);
  });

  it('leads the shards of a unit to its primary, and names only pservers that lead one', async () => {
    await begin();
    const [first, last] = [await claim(0), await claim(3)];
    await claim(1);
    await take(0, 3, last);
    await take(1, 0, first);
    expect(view.missing()).toBe('pservers to take 1 of 3 units of shards');
    expect(view.current()).toBeUndefined();
    expect(view.orphans()).toEqual([{ unit: 2, head: undefined }]);
    await take(2, 3, last);
    const { pservers, primaryOf } = view.current()!;
    expect(pservers.map(({ index }) => index)).toEqual([0, 3]);
    expect([...primaryOf]).toEqual([1, 0, 1, 1, 0]);
    expect(view.liveIndexes()).toEqual([0, 1, 3]);
  });

  it('has the same stamps after a change of a head that leaves its primary as it is', async () => {
    await begin();
    const token = await claim(0);
    for (const unit of [0, 1, 2]) await take(unit, 0, token);
    const before = view.current()!;
    const me = { index: 0, token: token.toString() };
    await put(master.context.keys.head(1), JSON.stringify({ epoch: 2, led: 1, primary: me, inSync: [me] }));
    const after = view.current()!;
    expect(after.version).not.toBe(before.version);
    expect(after.pservers).toEqual(before.pservers);
  });

  it('does not believe a head of another life of that index', async () => {
    await begin();
    const token = await claim(0);
    for (const unit of [0, 1, 2]) await take(unit, 0, token);
    data.txn({ if: [], then: [{ delete: master.context.keys.ps(0) }] });
    await claim(0);
    expect(view.current()).toBeUndefined();
    expect(view.orphans().map(({ unit, head }) => [unit, head?.modRevision])).toEqual(
      [0, 1, 2].map((unit) => [unit, data.get(master.context.keys.head(unit))!.modRevision]),
    );
  });
});

describe('a unit whose primary is gone', () => {
  const DEAD = { index: 7, token: '5' };
  const headOf = (unit: number) => master.context.keys.head(unit);

  it('is no orphan while a live process has a copy of it', async () => {
    await begin();
    const token = await claim(1);
    const inSync = [DEAD, { index: 1, token: token.toString() }];
    const head = { ...takenBy(DEAD, undefined), inSync };
    const modRevision = await put(headOf(0), JSON.stringify(head));
    const [first, second] = view.units();
    expect(first).toMatchObject({ last: 7, owner: undefined, hasCopy: true, stored: { unit: 0, head, modRevision } });
    expect(first!.copies).toEqual([{ index: 1, address: 'host:1', token }]);
    expect(second).toMatchObject({ hasCopy: false, copies: [], stored: undefined });
    expect(view.orphans().map(({ unit }) => unit)).toEqual([1, 2]);
    expect(view.current()).toBeUndefined();
    data.txn({ if: [], then: [{ delete: master.context.keys.ps(1) }] });
    await settle();
    expect(view.orphans().map(({ unit }) => unit)).toEqual([0, 1, 2]);
  });

  it('is one when it was left by a clean stop, even if a live process has a copy', async () => {
    await begin();
    const token = (await claim(1)).toString();
    const rest = { index: 7, uuid: '504ec9a6-7a47-4c17-9e1b-7a364a8cfbe0' };
    await put(headOf(0), JSON.stringify({ ...takenBy(DEAD, undefined, rest), inSync: [DEAD, { index: 1, token }] }));
    expect(view.units()[0]!.hasCopy).toBe(false);
    expect(view.orphans().map(({ unit }) => unit)).toEqual([0, 1, 2]);
  });
});
