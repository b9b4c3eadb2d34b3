/** What the master says of pservers: never `down` of one that is there. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Cancel } from '../../../src/base/seams.ts';
import { takenBy } from '../../../src/cluster/placement/heads.ts';
import { lackingText } from '../../../src/cluster/placement/lacking-copies.ts';
import { followPlacement } from '../../../src/cluster/placement/placement-view.ts';
import { parsePserverRecord } from '../../../src/cluster/placement/pserver-record.ts';
import { keepClusterStatus } from '../../../src/roles/master/cluster-status.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aStore, Master } from './tasks/service-rig.ts';

const PSERVERS = 2;

let data: MemoryStoreData;
let master: Master;
let cancels: Cancel[];

beforeEach(() => {
  const store = aStore();
  data = store.data;
  master = new Master(store.clock, data);
  cancels = [];
});
afterEach(() => {
  for (const cancel of cancels) cancel();
  expect(master.ends).toEqual([]);
});

const settle = (): Promise<void> => master.clock.advance(0);

function keep(wanted = { replicas: 1, minInSync: 1 }): void {
  data.txn({ if: [], then: [{ put: master.context.keys.psDesired, value: String(PSERVERS) }] });
  const onFatal = (error: unknown): void => void master.ends.push(error);
  const view = followPlacement(master.context, { shards: 1, units: 1 }, onFatal);
  cancels.push(view.cancel, keepClusterStatus(master.context, { fence: master.fence, view, wanted, onFatal }));
}

function say(index: number, status: 'up' | 'loading'): void {
  const value = { id: index, instance: 'here 1:1', status, start_time: 1, sync: status === 'up', units: [] };
  data.txn({ if: [], then: [{ put: master.context.keys.pserver(index), value: JSON.stringify(value) }] });
}

const claim = (index: number): unknown =>
  data.txn({ if: [], then: [{ put: master.context.keys.ps(index), value: '1:1' }] });
const leave = (index: number): unknown => data.txn({ if: [], then: [{ delete: master.context.keys.ps(index) }] });

async function said(index: number): Promise<unknown> {
  const key = master.context.keys.pserver(index);
  const { status, sync } = parsePserverRecord(key, (await master.context.store.get(key))!.value);
  return { status, sync };
}

async function clusterStatus(): Promise<unknown> {
  return JSON.parse((await master.context.store.get(master.context.keys.clusterStatus))!.value);
}

describe('a pserver', () => {
  it('that is gone is down, even when it went before this master came', async () => {
    say(0, 'up');
    claim(1);
    say(1, 'up');
    keep();
    await settle();
    expect(await said(0)).toEqual({ status: 'down', sync: false });
    expect(await said(1)).toEqual({ status: 'up', sync: true });
    expect(await clusterStatus()).toMatchObject({ cluster_status: 'UNHEALTHY', nodes: [1] });
    leave(1);
    await settle();
    expect(await said(1)).toEqual({ status: 'down', sync: false });
    expect(await clusterStatus()).toMatchObject({ cluster_status: 'UNKNOWN', nodes: [] });
  });

  it('that came since the master looked keeps its word', async () => {
    say(1, 'up');
    keep();
    master.troubled.hold();
    await settle();
    // The master is about to write `down` of the last life; the next one begins.
    claim(1);
    say(1, 'up');
    master.troubled.releaseHold();
    await settle();
    expect(await said(1)).toEqual({ status: 'up', sync: true });
    expect(await clusterStatus()).toMatchObject({ nodes: [1] });
  });

  it('that said so between the look at it and the write keeps its word', async () => {
    const { store, keys } = master.context;
    say(1, 'loading');
    const inner = store.get;
    const looked = Promise.withResolvers<void>();
    store.get = async (key) => {
      const entry = await inner(key);
      if (key === keys.pserver(1) && entry !== undefined) {
        store.get = inner;
        looked.resolve();
        claim(1);
        say(1, 'up');
      }
      return entry;
    };
    keep();
    await looked.promise;
    await settle();
    expect(await said(1)).toEqual({ status: 'up', sync: true });
  });

  it('that came and went between the look at it and the write is down', async () => {
    const { store, keys } = master.context;
    say(1, 'loading');
    const inner = store.get;
    store.get = async (key) => {
      const entry = await inner(key);
      if (key === keys.pserver(1)) {
        store.get = inner;
        claim(1);
        say(1, 'up');
        leave(1);
      }
      return entry;
    };
    keep();
    await settle();
    expect(await said(1)).toEqual({ status: 'down', sync: false });
  });
});

it('nothing is said before the store has told who is there', async () => {
  claim(0);
  say(0, 'up');
  claim(1);
  say(1, 'up');
  keep();
  await settle();
  const written = master.troubled.writes.flatMap(({ txn }) => txn.then).map((op) => 'put' in op && op.value);
  expect(written).toEqual([expect.stringContaining('"nodes":[0,1]')]);
});

it('the units that lack copies are named, until they have them', async () => {
  const { keys } = master.context;
  const tokens = [0, 1].map((index) => {
    claim(index);
    return { index, token: data.get(keys.ps(index))!.createRevision.toString() };
  });
  const lead = (...inSync: typeof tokens): unknown =>
    data.txn({
      if: [],
      then: [{ put: keys.head(0), value: JSON.stringify({ ...takenBy(tokens[0]!, undefined), inSync }) }],
    });
  lead(tokens[0]!);
  keep({ replicas: 2, minInSync: 2 });
  await settle();
  expect(await clusterStatus()).toEqual({
    cluster_status: 'UNHEALTHY',
    reason: 'waiting for 2 copies of 1 unit (unit 0 has 1); pushes wait, as minInSync is 2',
    nodes: [0, 1],
  });
  lead(...tokens);
  await settle();
  expect(await clusterStatus()).toEqual({ cluster_status: 'OK', reason: '', nodes: [0, 1] });
  leave(1);
  await settle();
  expect(await clusterStatus()).toMatchObject({ cluster_status: 'UNHEALTHY', nodes: [0] });
});

it('only some of many units that lack copies are named', () => {
  const lacking = Array.from({ length: 10 }, (_, unit) => ({ unit, copies: 1 }));
  expect(lackingText(lacking, { replicas: 2, minInSync: 1 })).toBe(
    '2 copies of 10 units (unit 0 has 1, 1 has 1, 2 has 1, 3 has 1, 4 has 1, 5 has 1, 6 has 1, 7 has 1, and 2 more)',
  );
});
