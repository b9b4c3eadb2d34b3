/** Publishing restored files: all or nothing, and never under a live pserver. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { Generation } from '../../../src/checkpoint/registry/entry.ts';
import { parseEntry } from '../../../src/checkpoint/registry/entry.ts';
import {
  discardUnpublished,
  publishRestored,
  restoredSchema,
} from '../../../src/checkpoint/registry/publish-restored.ts';
import { readQuietJob } from '../../../src/checkpoint/registry/quiet-job.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Store, Txn } from '../../../src/store/store.ts';
import { storeThrough } from '../../commands/store-through.ts';
import { FakeClock } from '../../store/support.ts';
import { createFiles, uuidOf } from '../fixture.ts';

const keys = keysOf('/paddlet/small');

const generation = (number: number, epoch = 3): Generation => ({
  uuid: uuidOf(number),
  md5: '0'.repeat(32),
  timestamp: 5,
  shards: [{ epoch, seq: [1, 2], shards: '0-7' }],
});

async function setUp(pservers = 2) {
  const clock = new FakeClock();
  const store = new MemoryStore(new MemoryStoreData({ clock }));
  const put = (key: string, value: string) => store.txn({ if: [], then: [{ put: key, value }] });
  await put(keys.job, '{}');
  await put(keys.psDesired, String(pservers));
  for (let index = 0; index < pservers; index++) {
    await put(keys.checkpoint(index), JSON.stringify(generation(index)));
    await put(keys.pserver(index), '{}');
  }
  await put(keys.parting(9n), JSON.stringify({ ...generation(50), index: 7 }));
  const access = { store, keys, clock };
  const publish = async (count: number, quiet?: Awaited<ReturnType<typeof readQuietJob>>, through: Store = store) =>
    publishRestored({
      ...access,
      store: through,
      quiet: quiet ?? (await readQuietJob(access, 0)),
      generations: Array.from({ length: count }, (_, index) => generation(100 + index)),
      led: [1, 6],
      timestamp: 12.5,
    });
  const state = async () => {
    const { entries } = await store.range({ prefix: '/paddlet/' });
    return new Map(entries.map(({ key, value }) => [key, value]));
  };
  return { clock, store, put, access, publish, state };
}

describe('publishing restored files', () => {
  it.each([1, 2, 3, 40])('replaces all entries by those of %d pservers in one transaction', async (count) => {
    const { publish, state, access, store } = await setUp();
    const { token } = await readQuietJob(access, 0);
    const { revision } = await store.identity();
    await publish(count);
    expect((await store.identity()).revision).toBe(revision + 1n);
    const after = await state();
    const entries = [...after].filter(([key]) => key.startsWith(keys.checkpointsPrefix));
    expect(entries).toHaveLength(count);
    for (const [key, value] of entries) {
      const { entry } = parseEntry(key, { value, modRevision: 1n });
      expect(entry).toMatchObject({
        uuid: uuidOf(100 + Number(key.slice(keys.checkpointsPrefix.length))),
        generations: [],
      });
    }
    expect(after.get(keys.psDesired)).toBe(String(count));
    expect(restoredSchema.parse(JSON.parse(after.get(keys.restored)!))).toEqual({
      ...{ token: token.toString(), pservers: count, epoch: 3, timestamp: 12.5 },
    });
    expect([...after.keys()].filter((key) => key.includes('/parting/') || key.includes('/pservers/'))).toEqual([]);
  });

  it('is refused while a pserver lives, which is named; a dead one is waited for as long as asked', async () => {
    const { access, store, clock } = await setUp();
    const { leaseId } = await store.leaseGrant(5_000);
    await store.txn({ if: [], then: [{ put: keys.ps(1), value: 'host:1234', leaseId }] });
    await expect(readQuietJob(access, 0)).rejects.toMatchObject({
      code: 'JobConflict',
      exitCode: 2,
      message: expect.stringContaining('/ps/1 (host:1234)'),
    });
    const waiting = readQuietJob(access, 20_000);
    await clock.advance(10_000);
    const { revision } = await store.identity();
    // The lease ended with a revision of its own, which is the token of no owner.
    expect((await waiting).token).toBe(revision);
  });

  it.each([
    ['a pserver started', keys.ps(0), 'host:1', /alive: .*\/ps\/0 \(host:1\)/],
    ['a pserver of the new number started', keys.ps(2), 'host:2', /alive/],
    ['a pserver started that is not wanted, but led units', keys.ps(6), 'host:6', /alive: .*\/ps\/6 \(host:6\)/],
    ['a pserver started that is not wanted, but had parted', keys.ps(7), 'host:7', /alive: .*\/ps\/7 \(host:7\)/],
    ['a checkpoint was published', keys.checkpoint(1), '{}', /have changed since they were read/],
    ['a first checkpoint was published', keys.checkpoint(2), '{}', /have changed since they were read/],
    ['the number wanted changed', keys.psDesired, '5', /have changed since they were read/],
    ['the job was reset', keys.job, '{"id":2}', /have changed since they were read/],
  ])('changes nothing when, since it was read, %s', async (_, key, value, message) => {
    const { access, put, publish, state } = await setUp();
    const quiet = await readQuietJob(access, 0);
    await put(key, value);
    const before = await state();
    await expect(publish(3, quiet)).rejects.toMatchObject({
      code: 'JobConflict',
      message: expect.stringMatching(message),
    });
    expect(await state()).toEqual(before);
  });

  it('knows its own work again when the store did not say whether it took it', async () => {
    const { publish, store, state, clock } = await setUp();
    let tries = 0;
    const forgetful: Store = Object.create(store, {
      txn: {
        value: async (txn: Txn) => {
          const answer = await store.txn(txn);
          if (tries++ === 0) throw new PaddletError('StoreUnknownOutcome', 'no answer');
          return answer;
        },
      },
      get: { value: (key: string) => store.get(key) },
    });
    const publishing = publish(3, undefined, forgetful);
    await clock.advance(5_000);
    await publishing;
    expect(tries).toBe(1);
    expect((await state()).get(keys.psDesired)).toBe('3');
  });

  describe('when the store did not answer', () => {
    type Fate = 'landed' | 'lost';

    /** The first try meets its fate unanswered; then `since` happens, before the store is asked again. */
    async function publishUnanswered(fate: Fate, since: (put: (key: string, value: string) => unknown) => unknown) {
      const { publish, put, store, state, clock, access } = await setUp();
      const disk = createFiles();
      const paths = [0, 1, 2].map((index) => `/checkpoints/${index}/${uuidOf(100 + index)}`);
      for (const path of paths) disk.place(path, new Uint8Array(0));
      let tries = 0;
      const unanswered = storeThrough(store, {
        txn: async (txn) => {
          if (txn.then.every((op) => 'get' in op) || tries++ > 0) return store.txn(txn);
          if (fate === 'landed') await store.txn(txn);
          await since(put);
          throw new PaddletError('StoreUnknownOutcome', 'no answer');
        },
      });
      const files = { generations: [0, 1, 2].map((index) => generation(100 + index)), paths };
      const publishing = publish(3, undefined, unanswered).catch(async (error: unknown) => {
        await discardUnpublished(error, { ...access, storage: disk.storage, files });
        return error;
      });
      await clock.advance(5_000);
      const error = await publishing;
      const left = [];
      for (const [index, path] of paths.entries()) if (await disk.exists(path)) left.push(index);
      return { error, left, state: await state() };
    }

    it('takes it for its own also after a pserver began to serve from it', async () => {
      const other = JSON.stringify({ ...generation(100), keep: 1, generations: [] });
      const { error, left } = await publishUnanswered('landed', async (put) => {
        await put(keys.ps(0), 'host:1');
        await put(keys.checkpoint(0), other);
      });
      expect(error).toBeUndefined();
      expect(left).toEqual([0, 1, 2]);
    });

    it('keeps the files while a try may yet land: only a pserver came', async () => {
      const { error, left } = await publishUnanswered('lost', (put) => put(keys.ps(0), 'host:1'));
      expect(error).toMatchObject({ code: 'JobConflict', details: { isDoubtful: true, pservers: [{}] } });
      expect(left).toEqual([0, 1, 2]);
    });

    it('removes the files when no try can land any more', async () => {
      const { error, left } = await publishUnanswered('lost', (put) => put(keys.checkpoint(1), '{}'));
      expect(error).toMatchObject({ code: 'JobConflict' });
      // An entry that cannot be understood may name any file.
      expect(left).toEqual([0, 1, 2]);
      const other = JSON.stringify(generation(9));
      expect((await publishUnanswered('lost', (put) => put(keys.checkpoint(1), other))).left).toEqual([]);
    });

    it('removes only files that no entry names, whatever was found', async () => {
      const kept = JSON.stringify({ ...generation(50), keep: 1, generations: [generation(101)] });
      const cut = JSON.stringify({
        timeline: 1,
        round: 4,
        files: [{ index: 2, uuid: uuidOf(102), md5: '0'.repeat(32) }],
      });
      const { error, left } = await publishUnanswered('landed', async (put) => {
        await put(keys.restored, 'of another restore');
        await put(keys.checkpoint(0), JSON.stringify(generation(9)));
        await put(keys.checkpoint(1), kept);
        await put(keys.checkpoint(2), JSON.stringify(generation(8)));
        await put(keys.cut, cut);
      });
      expect(error).toMatchObject({ code: 'JobConflict' });
      expect(left).toEqual([1, 2]);
    });
  });

  it('refuses more pservers than one transaction holds', async () => {
    const { publish } = await setUp();
    await expect(publish(64)).rejects.toMatchObject({ code: 'Usage' });
  });
});
