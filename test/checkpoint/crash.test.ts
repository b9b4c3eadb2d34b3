/** A crash at any operation of the disk: what was published is loadable, and no orphan stays. */
import { describe, expect, it } from 'vitest';
import { generationsOf, readEntry } from '../../src/checkpoint/registry/entry.ts';
import { removeOrphans } from '../../src/checkpoint/registry/orphans.ts';
import { saveCheckpoint } from '../../src/checkpoint/registry/save.ts';
import type { Fence } from '../../src/store/fence.ts';
import { keysOf } from '../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import type { Parameters } from '../../src/tensor/parameters.ts';
import { DiskCrash } from '../simulated-faults.ts';
import { type StoredFiles, usesObjects } from '../simulated-objects.ts';
import { FakeClock, put } from '../store/support.ts';
import {
  contentOf,
  createFiles,
  emptyParameters,
  filledParameters,
  jobOf,
  loadUsable,
  metaOf,
  momentOf,
  PLACE,
  uuidOf,
} from './fixture.ts';

const FOLDER = '/data/checkpoints/1';
const keys = keysOf('');
const KEY = keys.checkpoint(PLACE.index);
const PS = keys.ps(PLACE.index);
const readStaying = async () => new Set<string>();
const JOB = jobOf({
  parameters: {
    dense: [{ name: 'w', shape: [40], initializer: { type: 'zeros' } }],
    sparse: [{ name: 'emb', width: 2, initializer: { type: 'zeros' } }],
  },
});

/** Contents of saves 1, 2, 3, 4: made once, they are only read. */
const SAVES = [1, 2, 3, 4].map((salt) => filledParameters(JOB, [1n, 2n, 3n, BigInt(salt) * 1000n], salt));
const CONTENTS = SAVES.map((parameters) => contentOf(parameters, JOB));

/** Empty between loads. */
const LOADED = emptyParameters(JOB);

/** For each operation; each seed decides which unsynced writes survive. */
const SEEDS = 4;

/** Deterministic numbers in [0, 1) from a seed (mulberry32). */
function fractions(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Machine {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore(new MemoryStoreData({ clock: this.clock }));

  async claim(): Promise<Fence> {
    await this.store.txn({ if: [], then: [{ delete: PS }] });
    await put(this.store, PS, 'host:1');
    return { key: PS, token: (await this.store.get(PS))!.createRevision };
  }

  save(disk: StoredFiles, fence: Fence, number: number, parameters: Parameters = SAVES[number - 1]!) {
    const { store, clock } = this;
    return saveCheckpoint({
      ...{
        storage: disk.storage,
        store,
        clock,
        fence,
        parameters,
        folder: PLACE.folder,
        keys,
        keep: 1,
        readStaying,
        extentBytes: 600,
      },
      meta: metaOf(JOB, { uuid: uuidOf(number), token: fence.token }),
      shards: parameters.shards(),
      momentOf: momentOf(number * 100),
    });
  }

  published = async (): Promise<string[]> => {
    const { entry } = await readEntry(this.store, KEY);
    return entry === undefined ? [] : generationsOf(entry).map(({ uuid }) => uuid);
  };

  /** Starts again: claims, removes orphans, loads. The number of the save that was loaded, 0 for none. */
  async restart(disk: StoredFiles): Promise<{ number: number; fence: Fence }> {
    const fence = await this.claim();
    const { entry } = await readEntry(this.store, KEY);
    const published = await this.published();
    const options = {
      storage: disk.storage,
      place: PLACE,
      jobId: JOB.jobId,
      token: fence.token,
      published: new Set(published),
    };
    expect((await removeOrphans(options)).left).toEqual([]);
    expect((await disk.exists(FOLDER)) ? (await disk.list(FOLDER)).sort() : []).toEqual(published.sort());
    if (entry === undefined) return { number: 0, fence };
    const outcome = await loadUsable(generationsOf(entry), {
      storage: disk.storage,
      place: PLACE,
      expected: JOB,
      into: LOADED,
    });
    expect(outcome).toMatchObject({ complaints: [], parts: [{ file: { generation: { uuid: entry.uuid } } }] });
    const number = Number(BigInt(`0x${entry.uuid.slice(-12)}`));
    expect(contentOf(LOADED, JOB)).toEqual(CONTENTS[number - 1]);
    for (const shard of LOADED.shards()) LOADED.dropShard(shard);
    return { number, fence };
  }
}

/** Three saves, the last with a crash at the operation; how many operations the last one has when it does not crash. */
async function crashInThirdSave(operation: number, when: 'before' | 'after', seed: number): Promise<boolean> {
  const machine = new Machine();
  const disk = createFiles();
  const fence = await machine.claim();
  await machine.save(disk, fence, 1);
  await machine.save(disk, fence, 2);
  disk.crashAt(disk.operations + operation, when);
  const failure = await machine.save(disk, fence, 3).catch((error: unknown) => error);
  const survivor = disk.afterCrash(fractions(seed));
  const { number, fence: next } = await machine.restart(survivor);
  // Deleting comes after publishing and its failure is only reported.
  expect(number).toBe(failure instanceof DiskCrash ? 2 : 3);
  await machine.save(survivor, next, 4);
  expect((await machine.restart(survivor)).number).toBe(4);
  const isThrough = !(failure instanceof DiskCrash) && (failure as { undeleted: unknown[] }).undeleted.length === 0;
  return isThrough;
}

describe('a crash while a checkpoint is saved', () => {
  it('at any operation leaves the one before, or the new one, and no orphan', async () => {
    let operations = 0;
    for (let isThrough = false; !isThrough; operations++) {
      for (const when of ['before', 'after'] as const) {
        // Other seeds for each operation: what survives differs, though few are tried of each.
        for (let seed = 0; seed < SEEDS; seed++) {
          isThrough = await crashInThirdSave(operations, when, SEEDS * operations + seed);
        }
      }
    }
    // Folder, file, header, data, header, sync, rename, sync, delete: none was passed over.
    expect(operations).toBeGreaterThan(9);
  });

  it('the first one: there is none, or a whole one', async () => {
    for (let operation = 0; operation < 14; operation++) {
      const machine = new Machine();
      const disk = createFiles();
      const fence = await machine.claim();
      disk.crashAt(operation, operation % 2 === 0 ? 'before' : 'after');
      await machine.save(disk, fence, 1).catch(() => undefined);
      const survivor = disk.afterCrash(fractions(operation));
      expect((await machine.restart(survivor)).number).toBe((await machine.published()).length);
    }
  });
});

describe('a disk that fails while a checkpoint is saved', () => {
  it('full: the save fails, nothing is left of it, the one before stays', async () => {
    const machine = new Machine();
    const disk = createFiles();
    const fence = await machine.claim();
    const { file } = await machine.save(disk, fence, 1);
    for (const room of [0, 10, 2000, file.bytes - 1]) {
      disk.setCapacity(file.bytes + room);
      await expect(machine.save(disk, fence, 2)).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(await disk.list(FOLDER)).toEqual([uuidOf(1)]);
    }
    disk.setCapacity(file.bytes * 2);
    await machine.save(disk, fence, 2);
    expect((await machine.restart(disk)).number).toBe(2);
  });

  it.each(['create', 'write', 'sync', 'read', 'close', 'rename', 'syncFolder', 'makeFolder'] as const)(
    'at %s: the save fails with its error, nothing is published or left',
    async (call) => {
      const machine = new Machine();
      const disk = createFiles();
      const fence = await machine.claim();
      await machine.save(disk, fence, 1);
      disk.failNext(call, 'EIO');
      await expect(machine.save(disk, fence, 2)).rejects.toThrow();
      expect(await machine.published()).toEqual([uuidOf(1)]);
      expect(await disk.list(FOLDER)).toEqual([uuidOf(1)]);
      expect((await machine.restart(disk)).number).toBe(1);
    },
  );

  it('at removing what a failed save left: the error says so, and the next start removes it', async () => {
    const machine = new Machine();
    const disk = createFiles();
    const fence = await machine.claim();
    disk.failNext('rename', 'EIO');
    disk.failNext('remove', 'EACCES');
    await expect(machine.save(disk, fence, 1)).rejects.toThrow(/is left behind: EACCES/);
    expect(await disk.list(FOLDER)).toHaveLength(1);
    await machine.restart(disk);
    expect(await disk.list(FOLDER)).toEqual([]);
  });
});

describe('an owner that was stopped and wakes after another took its index', () => {
  it('deletes nothing of the new one and leaves nothing of its own', async () => {
    const machine = new Machine();
    const disk = createFiles();
    const old = await machine.claim();
    await machine.save(disk, old, 1);
    const { number, fence } = await machine.restart(disk);
    expect(number).toBe(1);
    await machine.save(disk, fence, 2);
    await expect(machine.save(disk, old, 3)).rejects.toMatchObject({ code: 'LeaseGone' });
    expect((await disk.list(FOLDER)).sort()).toEqual([uuidOf(1), uuidOf(2)]);
    expect((await machine.restart(disk)).number).toBe(2);
  });

  it('loses its half-written file, and its save fails', async () => {
    const machine = new Machine();
    const disk = createFiles();
    const old = await machine.claim();
    const parameters = SAVES[0]!;
    const { momentOf: moment } = { momentOf: momentOf() };
    let taken: Promise<unknown> | undefined;
    const saving = saveCheckpoint({
      ...{
        storage: disk.storage,
        store: machine.store,
        clock: machine.clock,
        fence: old,
        parameters,
        keys,
        keep: 1,
        readStaying,
      },
      folder: PLACE.folder,
      meta: metaOf(JOB, { uuid: uuidOf(1), token: old.token }),
      shards: parameters.shards(),
      momentOf: moment,
      pace: () => {
        taken ??= machine.restart(disk);
        return taken.then(() => undefined);
      },
    });
    // An object store has no half-written file: the save fails when it is to be published.
    await expect(saving).rejects.toMatchObject({ code: usesObjects ? 'LeaseGone' : 'CheckpointNotWritten' });
    expect(await disk.list(FOLDER)).toEqual([]);
  });
});
