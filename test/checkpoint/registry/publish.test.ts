import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { Cut } from '../../../src/checkpoint/registry/cut.ts';
import { type Generation, generationsOf, readEntry } from '../../../src/checkpoint/registry/entry.ts';
import { parsePartings } from '../../../src/checkpoint/registry/partings.ts';
import {
  deleteDropped,
  type PublishOptions,
  publish,
  publishParting,
  removeUnpublished,
} from '../../../src/checkpoint/registry/publish.ts';
import type { Fence } from '../../../src/store/fence.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { FakeClock, put } from '../../store/support.ts';
import { createFiles, PLACE, uuidOf } from '../fixture.ts';

const keys = keysOf('/paddlet/small');
const { index } = PLACE;
const KEY = keys.checkpoint(index);
const PS = keys.ps(index);
const NONE_RESTS = async () => new Set<string>();

const generation = (number: number, changes: Partial<Generation> = {}): Generation => ({
  uuid: uuidOf(number),
  md5: 'd41d8cd98f00b204e9800998ecf8427e',
  timestamp: 1_700_000_000.5 + number,
  bytes: 100,
  token: '5',
  clean: false,
  shards: [{ epoch: 1, seq: [number, number], shards: '0-7' }],
  ...changes,
});

/** A file of sync mode. */
const ofRound = (round: number): Generation => generation(round, { round });

class World {
  readonly clock = new FakeClock();
  readonly data = new MemoryStoreData({ clock: this.clock });
  readonly store = new MemoryStore(this.data);
  readonly disk = createFiles();

  /** Claims the index again: it has a new owner. */
  async claim(): Promise<Fence> {
    await this.store.txn({ if: [], then: [{ delete: PS }] });
    await put(this.store, PS, 'host:1');
    return { key: PS, token: (await this.store.get(PS))!.createRevision };
  }

  options(fence: Fence, number: number, changes: Partial<PublishOptions> = {}): PublishOptions {
    const { store, clock } = this;
    const changed = { generation: generation(number), readStaying: NONE_RESTS, ...changes };
    return { store, clock, fence, keys, index, keep: 1, ...changed };
  }

  async entry() {
    const { entry } = await readEntry(this.store, KEY);
    return entry!;
  }

  uuids = async (): Promise<string[]> => generationsOf(await this.entry()).map(({ uuid }) => uuid);

  /** The next transaction fails like this; `lands` says whether it took effect. */
  failTxn(code: 'StoreUnavailable' | 'StoreUnknownOutcome', lands: boolean, then?: () => Promise<unknown>): void {
    const { txn } = this.store;
    this.store.txn = async (request) => {
      if (request.then.every((op) => 'get' in op)) return txn(request);
      this.store.txn = txn;
      if (lands) await txn(request);
      await then?.();
      throw new PaddletError(code, 'cut off');
    };
  }

  /** Runs time until the promise is settled. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const done = promise.finally(() => {
      isDone = true;
    });
    done.catch(() => undefined);
    while (!isDone) await this.clock.advance(100);
    return done;
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

/** The cut is made of the file of that number. */
async function putCut(number: number): Promise<void> {
  const files = [{ index: PLACE.index, uuid: uuidOf(number), md5: generation(number).md5 }];
  await put(world.store, keys.cut, JSON.stringify({ timeline: 0, round: number, files } satisfies Cut));
}

describe('publish', () => {
  it('writes the key as the protocol has it, with what more is needed', async () => {
    await publish(world.options(await world.claim(), 1));
    const value = JSON.parse((await world.store.get(KEY))!.value);
    expect(value).toMatchObject({ uuid: uuidOf(1), md5: generation(1).md5, timestamp: 1_700_000_001.5 });
    expect(value).toMatchObject({ keep: 1, bytes: 100, token: '5', generations: [] });
  });

  it('keeps as many earlier generations as asked for, and drops the others by name', async () => {
    const fence = await world.claim();
    const dropped: (readonly string[])[] = [];
    for (const number of [1, 2, 3, 4]) dropped.push((await publish(world.options(fence, number))).dropped);
    expect(dropped).toEqual([[], [], [uuidOf(1)], [uuidOf(2)]]);
    expect(await world.uuids()).toEqual([uuidOf(4), uuidOf(3)]);
    const last = await publish(world.options(fence, 5, { keep: 0 }));
    expect(last.dropped).toEqual([uuidOf(4), uuidOf(3)]);
  });

  describe('after shards went to another pserver', () => {
    type Range = [number, number];
    const MINE = [{ epoch: 1, seq: [9, 9] as Range, shards: '0-3' }];
    const theirs = (epoch: number, seq: Range, shards = '4-7') => [{ epoch, seq, shards }];
    const others = (number: number, shards: Generation['shards'], before: Generation[] = []) =>
      put(
        world.store,
        keys.checkpoint(7),
        JSON.stringify({ ...generation(number, { shards }), generations: before, keep: 1 }),
      );
    let fence: Fence;
    let next = 2;
    /** Of another file of the shards that are left. */
    const dropped = async (changes: Partial<PublishOptions> = {}): Promise<readonly string[]> => {
      const number = next++;
      const file = generation(number, { shards: MINE });
      return (await publish(world.options(fence, number, { keep: 0, generation: file, ...changes }))).dropped;
    };

    beforeEach(async () => {
      fence = await world.claim();
      next = 2;
      await publish(world.options(fence, 1));
    });

    it('drops no file that holds a shard that no newer file of any pserver has', async () => {
      expect(await dropped()).toEqual([]);
      await others(80, theirs(1, [0, 5]));
      expect(await dropped()).toEqual([uuidOf(2)]);
      await others(81, theirs(2, [0, 5], '4-6'));
      expect(await dropped()).toEqual([uuidOf(3)]);
      await others(82, theirs(2, [0, 5]));
      expect(await dropped()).toEqual([uuidOf(4), uuidOf(1)]);
    });

    it('takes a file at the same position for neither newer nor older: each would let the other one go', async () => {
      await others(80, theirs(1, [1, 1]));
      expect(await dropped()).toEqual([]);
      await others(81, theirs(1, [2, 2]));
      expect(await dropped()).toEqual([uuidOf(2), uuidOf(1)]);
    });

    it('counts older files of the others as well', async () => {
      await others(81, theirs(9, [1, 1], '0'), [generation(80, { shards: theirs(2, [1, 1]) })]);
      expect(await dropped()).toEqual([uuidOf(1)]);
    });

    it('drops nothing for the sake of an entry that it cannot read', async () => {
      await put(world.store, keys.checkpoint(7), 'nonsense');
      await put(world.store, keys.checkpoint(8), '{"uuid":"no","md5":"","timestamp":1}');
      expect(await dropped()).toEqual([]);
    });

    it('does not take a parting snapshot that it adopted late for newer than its own later file', async () => {
      await publish(world.options(fence, 2, { generation: generation(2, { shards: theirs(5, [1, 1], '0-7') }) }));
      const { dropped: late } = await publish(world.options(fence, 3, { keep: 0, generation: generation(3) }));
      expect(late).toEqual([uuidOf(1)]);
      expect(await world.uuids()).toEqual([3, 2].map(uuidOf));
    });
  });

  it('keeps the same number of files however many cuts fail, and never one that may be completed yet', async () => {
    const fence = await world.claim();
    const uuids: string[][] = [];
    await putCut(1);
    for (const number of [1, 2, 3, 4, 5, 6]) {
      await publish(world.options(fence, number, { keep: 0, generation: ofRound(number) }));
      uuids.push(await world.uuids());
    }
    expect(uuids.map((some) => some.length)).toEqual([1, 2, 2, 2, 2, 2]);
    expect(uuids.at(-1)).toEqual([6, 1].map(uuidOf));
    // The cut of file 6 is still being completed when this owner stops, twice.
    for (const number of [7, 8]) {
      const changes = { keep: 0, generation: { ...ofRound(number), clean: true } };
      await publish(world.options(fence, number, changes));
    }
    expect(await world.uuids()).toEqual([8, 6, 1].map(uuidOf));
    // Completed after all, and only the store knows it yet.
    await putCut(6);
    await publish(world.options(fence, 9, { keep: 0, generation: ofRound(9) }));
    expect(await world.uuids()).toEqual([9, 6].map(uuidOf));
  });

  it('is refused to an owner that lost its index, whose file then goes', async () => {
    const old = await world.claim();
    await publish(world.options(old, 1));
    const mine = await world.claim();
    await publish(world.options(mine, 2));
    await expect(publish(world.options(old, 3))).rejects.toMatchObject({ code: 'LeaseGone' });
    expect(await world.uuids()).toEqual([uuidOf(2), uuidOf(1)]);

    const { store, clock, disk } = world;
    const cleanup = (number: number) => ({
      store,
      clock,
      storage: disk.storage,
      fence: old,
      keys,
      place: PLACE,
      uuid: uuidOf(number),
    });
    disk.place(`/data/checkpoints/1/${uuidOf(3)}`, Uint8Array.of(1));
    disk.place(`/data/checkpoints/1/${uuidOf(1)}`, Uint8Array.of(1));
    expect(await removeUnpublished(cleanup(3))).toBe(true);
    expect(await removeUnpublished(cleanup(1))).toBe(false);
    expect(await disk.list('/data/checkpoints/1')).toEqual([uuidOf(1)]);
  });

  it.each([true, false])('reads back when the outcome is unknown (landed: %s)', async (lands) => {
    const fence = await world.claim();
    await publish(world.options(fence, 1, { keep: 0 }));
    world.failTxn('StoreUnknownOutcome', lands);
    const waiting: string[] = [];
    const options = world.options(fence, 2, { keep: 0, onWaiting: ({ code }) => waiting.push(code) });
    const { dropped } = await world.run(publish(options));
    expect({ dropped, waiting }).toEqual({ dropped: [uuidOf(1)], waiting: ['StoreUnknownOutcome'] });
    expect(await world.uuids()).toEqual([uuidOf(2)]);
  });

  it('waits for a store that is away', async () => {
    const fence = await world.claim();
    world.failTxn('StoreUnavailable', false);
    await world.run(publish(world.options(fence, 1)));
    expect(await world.uuids()).toEqual([uuidOf(1)]);
  });

  it('keeps a file that heads name as the last state, whatever is to be kept', async () => {
    const fence = await world.claim();
    await publish(world.options(fence, 1, { keep: 0 }));
    const { dropped } = await publish(
      world.options(fence, 2, { keep: 0, readStaying: async () => new Set([uuidOf(1)]) }),
    );
    expect(dropped).toEqual([]);
    expect(await world.uuids()).toEqual([uuidOf(2), uuidOf(1)]);
    const next = await publish(world.options(fence, 3, { keep: 0 }));
    expect(next.dropped).toEqual([uuidOf(2), uuidOf(1)]);
  });

  it('replaces a value that cannot be understood, and says so', async () => {
    const fence = await world.claim();
    for (const value of ['nonsense', '{"uuid":"../../x","md5":"","timestamp":1}', '[]']) {
      await put(world.store, KEY, value);
      const { complaint, dropped } = await publish(world.options(fence, 1, { keep: 0 }));
      expect(complaint).toContain(KEY);
      expect(dropped).toEqual([]);
    }
  });

  it('reads an entry that has only what the protocol writes, and never drops its file unproven', async () => {
    const fence = await world.claim();
    await put(world.store, KEY, JSON.stringify({ uuid: uuidOf(1), md5: generation(1).md5, timestamp: 3 }));
    const { dropped } = await publish(world.options(fence, 2, { keep: 0 }));
    expect(dropped).toEqual([]);
    expect(await world.uuids()).toEqual([uuidOf(2), uuidOf(1)]);
  });

  it('is interrupted by its signal', async () => {
    const fence = await world.claim();
    const signal = AbortSignal.abort();
    await expect(publish(world.options(fence, 1, { signal }))).rejects.toMatchObject({ code: 'Interrupted' });
  });
});

describe('deleting what was dropped', () => {
  it('goes on after a failure, and reports it', async () => {
    const { disk } = world;
    for (const number of [1, 2]) disk.place(`/data/checkpoints/1/${uuidOf(number)}`, Uint8Array.of(1));
    disk.failNext('remove', 'EIO');
    const failures = await deleteDropped(disk.storage, PLACE, [1, 2, 3].map(uuidOf));
    expect(failures.map(({ path }) => path)).toEqual([`/data/checkpoints/1/${uuidOf(1)}`]);
    expect(await disk.list('/data/checkpoints/1')).toEqual([uuidOf(1)]);
  });
});

describe('a parting snapshot', () => {
  it('is published once, under its own key, even when the first answer was lost', async () => {
    const { store, clock } = world;
    const key = '/paddlet/small/parting/5';
    world.failTxn('StoreUnknownOutcome', true);
    await world.run(publishParting({ store, clock, key, index, files: [generation(1)] }));
    const { entries } = await store.range({ prefix: keys.partingPrefix });
    expect(parsePartings(keys.partingPrefix, entries)).toMatchObject([{ index, token: 5n, generation: generation(1) }]);
    const again = publishParting({ store, clock, key, index, files: [generation(2)] });
    await expect(again).rejects.toMatchObject({ code: 'StoreInvalid' });
  });

  it('may be several files, which are read one by one', async () => {
    const { store, clock } = world;
    const key = '/paddlet/small/parting/5';
    await publishParting({ store, clock, key, index, files: [generation(1), generation(2)] });
    const { entries } = await store.range({ prefix: keys.partingPrefix });
    const of = { index, key, token: 5n, modRevision: entries[0]!.modRevision };
    expect(parsePartings(keys.partingPrefix, entries)).toEqual([
      { ...of, generation: generation(1) },
      { ...of, generation: generation(2) },
    ]);
  });
});
