/** What a pserver leaves that the job does not want any more. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeKept } from '../../../src/checkpoint/registry/kept-key.ts';
import { encodeParting } from '../../../src/checkpoint/registry/partings.ts';
import type { RoleContext } from '../../../src/cluster/context.ts';
import { neededOf } from '../../../src/cluster/placement/leave-nothing.ts';
import { followPlacement } from '../../../src/cluster/placement/placement-view.ts';
import { removeLeftovers } from '../../../src/roles/master/leftovers.ts';
import { deleteOwnFiles } from '../../../src/roles/pserver/files/delete-own-files.ts';
import type { Fence } from '../../../src/store/fence.ts';
import { FOLDER } from '../../checkpoint/cluster-fixture.ts';
import { JOB, keys, MovedCluster, STAGES } from '../../checkpoint/moved-cluster.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../simulated-disk.ts';
import { put, RecordingLog } from '../../store/support.ts';

let disk: SimulatedDisk;
let cluster: MovedCluster;
let log: RecordingLog;
let context: RoleContext;
let cancels: (() => void)[];
let ends: unknown[];
let saves: number;

beforeEach(async () => {
  disk = createSimulatedDisk();
  cluster = new MovedCluster(disk.storage);
  log = new RecordingLog();
  const host = { disk, storage: disk.storage, clock: cluster.clock, log };
  context = { host, store: cluster.store, keys, stop: new AbortController().signal } as unknown as RoleContext;
  [cancels, ends, saves] = [[], [], 0];
  // Pserver 3 has handed over its units, and its files have the newest copies of them.
  await STAGES['4 → 3, and none has saved since the last one left']!(cluster);
  await put(cluster.store, keys.psDesired, '3');
  await put(cluster.store, keys.pserver(3), JSON.stringify(recordOf(3)));
  for (let unit = 0; unit < JOB.shards; unit++) await lead(unit, cluster.ownerOf(unit));
});
afterEach(() => {
  for (const cancel of cancels) cancel();
  expect(ends).toEqual([]);
});

const recordOf = (id: number) => ({ id, instance: 'here 1:1', status: 'down', start_time: 1, sync: false, units: [] });

async function lead(unit: number, index: number, rest?: { index: number; uuid: string }): Promise<void> {
  const owner = { index, token: (await fenceOf(index)).token.toString() };
  const head = { epoch: 3, led: 3, primary: owner, inSync: [owner], ...(rest && { rest }) };
  await put(cluster.store, keys.head(unit), JSON.stringify(head));
}

async function fenceOf(index: number): Promise<Fence> {
  const key = keys.ps(index);
  return { key, token: (await cluster.store.get(key))!.createRevision };
}

const die = (index: number) => cluster.store.txn({ if: [], then: [{ delete: keys.ps(index) }] });

async function start(save: () => Promise<unknown>): Promise<void> {
  await put(cluster.store, keys.masterLock, 'a master');
  const fence = { key: keys.masterLock, token: (await cluster.store.get(keys.masterLock))!.createRevision };
  const onFatal = (error: unknown): void => void ends.push(error);
  const view = followPlacement(context, { shards: JOB.shards, units: JOB.shards }, onFatal);
  const counted = (): Promise<unknown> => {
    saves += 1;
    return save();
  };
  cancels.push(view.cancel, removeLeftovers({ context, fence, view, folder: FOLDER, save: counted, onFatal }));
  await cluster.clock.advance(0);
}

const saveAll = async (): Promise<void> => {
  for (const index of [0, 1, 2]) await cluster.save(index);
};
const pass = () => cluster.clock.advance(10_000);

async function left(): Promise<{ keys: string[]; files: number | undefined }> {
  const found = await Promise.all([keys.checkpoint(3), keys.pserver(3)].map((key) => cluster.store.get(key)));
  const names = found.flatMap((entry) => (entry === undefined ? [] : [entry.key]));
  const hasFolder = await disk.exists(`${FOLDER}/3`);
  return { keys: names, files: hasFolder ? disk.names(`${FOLDER}/3`).length : undefined };
}

const ALL = { keys: [keys.checkpoint(3), keys.pserver(3)], files: 1 };
/** No folder either. */
const NOTHING = { keys: [], files: undefined };

describe('the master', () => {
  it('has the others save what only the files of a dead pserver have, and then removes all of it', async () => {
    await die(3);
    await start(saveAll);
    await pass();
    expect(await left()).toEqual(NOTHING);
    expect(saves).toBe(1);
    expect((await cluster.files()).map(({ index }) => index)).not.toContain(3);
  });

  it('removes a parting snapshot of several files with it', async () => {
    const [own] = (await cluster.files()).filter(({ index }) => index === 3);
    const { generation } = own!;
    await put(cluster.store, keys.parting(77n), encodeParting({ index: 3, files: [generation, generation] }));
    await die(3);
    await start(saveAll);
    await pass();
    expect(await left()).toEqual(NOTHING);
    expect((await cluster.store.range({ prefix: keys.partingPrefix })).entries).toEqual([]);
  });

  it('keeps it until they have saved, and does not ask them all the time', async () => {
    await die(3);
    await start(async () => undefined);
    await pass();
    expect(await left()).toEqual(ALL);
    expect(saves).toBeGreaterThan(1);
    expect(saves).toBeLessThan(6);
    await saveAll();
    await pass();
    expect(await left()).toEqual(NOTHING);
  });

  it('leaves it to a pserver that lives, but has the others save', async () => {
    await start(saveAll);
    await pass();
    expect(await left()).toEqual(ALL);
    expect(saves).toBe(1);
    await die(3);
    await pass();
    expect(await left()).toEqual(NOTHING);
  });

  it('leaves what belongs to a pserver that is wanted, or wanted again', async () => {
    await die(3);
    await put(cluster.store, keys.psDesired, '4');
    await start(saveAll);
    await pass();
    expect(await left()).toEqual(ALL);
    expect(saves).toBe(0);
    await put(cluster.store, keys.psDesired, '3');
    await pass();
    expect(await left()).toEqual(NOTHING);
  });

  it('leaves the files of one that leads units still, and those that a head names', async () => {
    const [own] = (await cluster.files()).filter(({ index }) => index === 3);
    await saveAll();
    await lead(5, 3);
    await die(3);
    await start(saveAll);
    await pass();
    expect(await left()).toEqual(ALL);
    await lead(5, 1, { index: 3, uuid: own!.generation.uuid });
    await pass();
    expect(await left()).toEqual(ALL);
    await lead(5, 1);
    await pass();
    expect(await left()).toEqual(NOTHING);
  });

  it('leaves a folder with files of others', async () => {
    await saveAll();
    await die(3);
    disk.place(`${FOLDER}/3/of-another-job`, new Uint8Array(1));
    await start(saveAll);
    await pass();
    expect(await left()).toEqual({ keys: [], files: 1 });
  });

  it('leaves the files of a model that is kept', async () => {
    const [own] = (await cluster.files()).filter(({ index }) => index === 3);
    const files = [{ index: 3, uuid: own!.generation.uuid }];
    await put(cluster.store, keys.kept, encodeKept({ models: [{ name: 'pass-1', files }], released: [] }));
    await saveAll();
    await die(3);
    await start(saveAll);
    await pass();
    expect(await left()).toEqual({ keys: [], files: 1 });
  });

  it('leaves them, too, when a master has kept the model since the keys were read', async () => {
    const [own] = (await cluster.files()).filter(({ index }) => index === 3);
    const files = [{ index: 3, uuid: own!.generation.uuid }];
    await saveAll();
    await die(3);
    const { txn } = cluster.store;
    cluster.store.txn = async (request) => {
      const isAnnouncement = request.then.some((op) => 'put' in op && op.put === keys.checkpoint(3));
      if (!isAnnouncement) return txn(request);
      cluster.store.txn = txn;
      await put(cluster.store, keys.kept, encodeKept({ models: [{ name: 'pass-1', files }], released: [] }));
      return txn(request);
    };
    await start(saveAll);
    await pass();
    expect(await left()).toEqual({ keys: [], files: 1 });
  });

  it('announces in the entry that the files go, so that no model is kept of them from then on', async () => {
    await saveAll();
    await die(3);
    for (let times = 0; times < 3; times++) disk.failNext('remove', 'EIO');
    await start(saveAll);
    const { entry } = (await cluster.published()).find(({ index }) => index === 3)!;
    expect(entry.leaving).toBe(true);
    // A master that keeps models would have found it before: what is kept has changed since it was read.
    await put(cluster.store, keys.kept, encodeKept({ models: [], released: [] }));
    await pass();
    expect(await left()).toEqual(NOTHING);
  });

  it('leaves a folder that cannot be removed', async () => {
    await saveAll();
    await die(3);
    disk.failNext('removeFolder', 'EBUSY');
    await start(saveAll);
    await pass();
    expect(await left()).toEqual({ keys: [], files: 0 });
  });

  it('tries again when the disk does not delete a file, and keeps the keys until then', async () => {
    await saveAll();
    await die(3);
    // Announcing that the files go is a change after which it looks again.
    for (let times = 0; times < 2; times++) disk.failNext('remove', 'EIO');
    await start(saveAll);
    await cluster.clock.advance(0);
    expect(await left()).toEqual(ALL);
    expect(log.messages.join()).toContain('are kept for now');
    await pass();
    expect(await left()).toEqual(NOTHING);
  });
});

describe('a pserver that left', () => {
  const leave = async (signal = new AbortController().signal) =>
    deleteOwnFiles({ context, fence: await fenceOf(3), index: 3 }, FOLDER, signal);

  it('stays until the others have saved, then nothing of it is left', async () => {
    const leaving = leave();
    await pass();
    expect(await left()).toEqual(ALL);
    await saveAll();
    await cluster.clock.advance(0);
    expect(await leaving).toBe(true);
    expect(await left()).toEqual(NOTHING);
  });

  it('goes without that when it is stopped', async () => {
    const stop = new AbortController();
    const leaving = leave(stop.signal);
    await pass();
    stop.abort();
    await cluster.clock.advance(0);
    expect(await leaving).toBe(false);
    expect(await left()).toEqual(ALL);
  });

  it('deletes nothing for another that has its index by now', async () => {
    const fence = await fenceOf(3);
    await die(3);
    await put(cluster.store, keys.ps(3), 'host:9');
    await saveAll();
    const leaving = deleteOwnFiles({ context, fence, index: 3 }, FOLDER, new AbortController().signal);
    await expect(leaving).rejects.toMatchObject({ code: 'LeaseGone' });
    expect(await left()).toEqual(ALL);
  });
});

it('may come back as long as it leads a unit or one of its files is needed', async () => {
  const needed = async () => (await neededOf({ context, index: 3 }))?.type;
  await die(3);
  expect(await needed()).toBe('shards');
  await saveAll();
  expect(await needed()).toBeUndefined();
  await put(cluster.store, keys.ps(3), 'host:3');
  await lead(0, 3);
  expect(await needed()).toBe('leads');
});
