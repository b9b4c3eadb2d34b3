/**
 * Saves on shutdown: not rate-limited, awaited, abandoned; and parting snapshots that become the newest file.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { CheckpointFile } from '../../../../src/checkpoint/file/write-durable-file.ts';
import { type Generation, generationsOf, readEntry } from '../../../../src/checkpoint/registry/entry.ts';
import { publish } from '../../../../src/checkpoint/registry/publish.ts';
import { saveCheckpoint } from '../../../../src/checkpoint/registry/save.ts';
import { adoptParting } from '../../../../src/roles/pserver/files/adopt-parting.ts';
import { type Checkpointing, createCheckpointing } from '../../../../src/roles/pserver/files/checkpointing.ts';
import { createPace, type SaveKind } from '../../../../src/roles/pserver/files/snapshots.ts';
import type { Fence } from '../../../../src/store/fence.ts';
import { keysOf } from '../../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { storeWaitLogger } from '../../../../src/store/retry-until-answered.ts';
import {
  contentOf,
  emptyParameters,
  filledParameters,
  jobOf,
  loadUsable,
  metaOf,
  momentOf,
  PLACE,
  save,
  uuidOf,
} from '../../../checkpoint/fixture.ts';
import { createSimulatedDisk } from '../../../simulated-disk.ts';
import { FakeClock, put, RecordingLog, SILENT } from '../../../store/support.ts';

const JOB = jobOf();

describe('a rate', () => {
  it('delays each write to its time, and none once a caller waits', async () => {
    const clock = new FakeClock();
    const unlimited = new AbortController();
    const pace = createPace(clock, 1000, unlimited.signal);
    await pace(5000);
    let second = false;
    const waiting = pace(5000).then(() => {
      second = true;
    });
    await clock.advance(4000);
    expect(second).toBe(false);
    unlimited.abort();
    await waiting;
    await pace(1e9);
    await pace(1e9);
    expect(clock.pendingTimers).toBe(0);
  });
});

/** Saves that end when told to. */
class Saves {
  readonly calls: string[] = [];
  #settle: ((error?: Error) => void)[] = [];
  readonly save = (kind: SaveKind): Promise<CheckpointFile> => {
    this.calls.push(kind);
    const file: CheckpointFile = { uuid: uuidOf(this.calls.length), md5: '', bytes: 0, rows: 0, positions: [] };
    return new Promise((resolve, reject) => {
      this.#settle.push((error) => (error === undefined ? resolve(file) : reject(error)));
    });
  };
  readonly endRateLimit = (): void => void this.calls.push('endRateLimit');
  readonly abandon = (): void => void this.calls.push('abandon');

  async finish(error?: Error): Promise<void> {
    this.#settle.shift()!(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the saves of a pserver', () => {
  let saves: Saves;
  let ended: unknown[];
  let clock: FakeClock;
  let checkpointing: Checkpointing;
  const onFatal = (error: unknown): void => void ended.push(error);

  beforeEach(() => {
    saves = new Saves();
    ended = [];
    clock = new FakeClock();
    checkpointing = createCheckpointing({
      clock,
      log: SILENT,
      when: { intervalMs: 1000, everyPasses: undefined, everyBatches: undefined } as never,
      snapshots: saves,
      start: { passes: 0, batches: 0 },
      savesAtOnce: false,
      isEmpty: () => false,
      onFatal,
    });
  });

  it('lose their rate limit to the last one, which waits for them', async () => {
    await clock.advance(1000);
    const last = checkpointing.last();
    expect(saves.calls).toEqual(['due', 'endRateLimit']);
    await saves.finish();
    await clock.advance(0);
    expect(saves.calls).toEqual(['due', 'endRateLimit', 'last']);
    await saves.finish();
    expect((await last).uuid).toBe(uuidOf(3));
  });

  it('go on after the last one when there is more to save, and end with another last one', async () => {
    const last = checkpointing.last();
    await clock.advance(0);
    await saves.finish();
    await last;
    checkpointing.resume();
    saves.calls.length = 0;
    await clock.advance(1000);
    await saves.finish();
    expect(saves.calls).toEqual(['due']);
    const again = checkpointing.last();
    await clock.advance(0);
    await saves.finish();
    expect((await again).uuid).not.toBe((await last).uuid);
  });

  it('are tried again soon when the disk refuses them, then at their interval', async () => {
    const slow = { intervalMs: 3_600_000, everyPasses: undefined, everyBatches: undefined } as never;
    const start = { passes: 0, batches: 0 };
    await checkpointing.stop();
    saves = new Saves();
    checkpointing = createCheckpointing({
      ...{ clock, log: SILENT, when: slow, snapshots: saves, start, savesAtOnce: false },
      isEmpty: () => false,
      onFatal,
    });
    const refused = new PaddletError('CheckpointNotWritten', 'the disk is full');
    await clock.advance(3_600_000);
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      await saves.finish(refused);
      saves.calls.length = 0;
      await clock.advance(pauseMs - 1);
      expect(saves.calls).toEqual([]);
      await clock.advance(1);
      expect(saves.calls).toEqual(['due']);
    }
    await saves.finish();
    saves.calls.length = 0;
    await clock.advance(3_599_999);
    expect(saves.calls).toEqual([]);
    await clock.advance(1);
    expect(saves.calls).toEqual(['due']);
    await saves.finish();
    expect(ended).toEqual([]);
  });

  it('begin at once after a warm start, and go on until the disk takes one, even without an interval', async () => {
    const never = { intervalMs: 'off', everyPasses: undefined, everyBatches: undefined } as never;
    const start = { passes: 0, batches: 0 };
    await checkpointing.stop();
    saves = new Saves();
    checkpointing = createCheckpointing({
      ...{ clock, log: SILENT, when: never, snapshots: saves, start, savesAtOnce: true, isEmpty: () => false, onFatal },
    });
    expect(saves.calls).toEqual(['due']);
    await saves.finish(new PaddletError('CheckpointNotWritten', 'the disk is full'));
    await clock.advance(1_000);
    expect(saves.calls).toEqual(['due', 'due']);
    await saves.finish();
    await clock.advance(3_600_000);
    expect(saves.calls).toEqual(['due', 'due']);
    expect(ended).toEqual([]);
  });

  it('are waited for in stopping, also the last one', async () => {
    const last = checkpointing.last();
    await clock.advance(0);
    let stopped = false;
    const stopping = checkpointing.stop().then(() => {
      stopped = true;
    });
    await clock.advance(0);
    expect([saves.calls, stopped]).toEqual([['endRateLimit', 'last', 'abandon'], false]);
    await saves.finish(new PaddletError('Interrupted', 'given up'));
    await expect(last).rejects.toMatchObject({ code: 'Interrupted' });
    await stopping;
    expect(stopped).toBe(true);
  });

  it('may be given up in stopping, which is no failure; before, it is one', async () => {
    await clock.advance(1000);
    const stopping = checkpointing.stop();
    await saves.finish(new PaddletError('Interrupted', 'given up'));
    await stopping;
    expect(ended).toEqual([]);
  });
});

describe('while a unit is handed over', () => {
  let saves: Saves;
  let clock: FakeClock;
  let checkpointing: Checkpointing;
  const ended: unknown[] = [];

  beforeEach(() => {
    saves = new Saves();
    clock = new FakeClock();
    checkpointing = createCheckpointing({
      ...{ clock, log: SILENT, snapshots: saves, start: { passes: 0, batches: 0 }, savesAtOnce: false },
      when: { intervalMs: 1_000, everyPasses: 1, everyBatches: undefined } as never,
      isEmpty: () => false,
      onFatal: (error) => ended.push(error),
    });
  });

  it('a running save is waited for, and none begins before it is released', async () => {
    await clock.advance(1_000);
    let isHeld = false;
    const held = checkpointing.hold().then((release) => {
      isHeld = true;
      return release;
    });
    await clock.advance(0);
    expect(isHeld).toBe(false);
    await saves.finish();
    const release = await held;
    checkpointing.progressed(1, 0);
    await clock.advance(5_000);
    expect(saves.calls).toEqual(['due']);
    release();
    await clock.advance(0);
    expect(saves.calls).toEqual(['due', 'due']);
  });

  it('saves that were asked for wait until the last one that holds them back has released them', async () => {
    const [release, releaseOther] = [await checkpointing.hold(), await checkpointing.hold()];
    const asked = checkpointing.request('due');
    release();
    release();
    await clock.advance(0);
    expect(saves.calls).toEqual([]);
    releaseOther();
    await clock.advance(0);
    await saves.finish();
    expect((await asked)?.uuid).toBe(uuidOf(1));
  });

  it('no save begins in a hold that begins right after another one has ended', async () => {
    for (const ask of ['request', 'last'] as const) {
      for (let turns = 0; turns < 12; turns++) {
        const release = await checkpointing.hold();
        saves.calls.length = 0;
        void (ask === 'last' ? checkpointing.last() : checkpointing.request('due'));
        await clock.advance(0);
        release();
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        let isHeld = false;
        const held = checkpointing.hold().then((end) => {
          isHeld = true;
          return end;
        });
        await clock.advance(0);
        const isSaving = saves.calls.some((call) => call === 'due' || call === 'last');
        expect({ ask, turns, isSaving, isHeld }).toEqual({ ask, turns, isSaving, isHeld: !isSaving });
        if (isSaving) await saves.finish();
        (await held)();
        await clock.advance(0);
        if (!isSaving) await saves.finish();
        if (ask === 'last') checkpointing.resume();
      }
    }
  });

  it('the last save waits as well, but not once the process stops', async () => {
    const release = await checkpointing.hold();
    const last = checkpointing.last();
    await clock.advance(0);
    expect(saves.calls).toEqual(['endRateLimit']);
    // One that waits does not keep another hand-over from ending.
    await checkpointing.hold();
    release();
    const refused = expect(last).rejects.toMatchObject({ code: 'Interrupted' });
    await checkpointing.stop();
    await refused;
    expect(saves.calls).toEqual(['endRateLimit', 'abandon']);
    expect(ended).toEqual([]);
  });
});

describe('with a store', () => {
  const keys = keysOf('/paddlet/small');
  const KEY = keys.checkpoint(PLACE.index);
  const PS = keys.ps(PLACE.index);
  const readStaying = async () => new Set<string>();
  const clock = new FakeClock();
  let store: MemoryStore;

  beforeEach(() => {
    store = new MemoryStore(new MemoryStoreData({ clock }));
  });

  async function claim(): Promise<Fence> {
    await store.txn({ if: [], then: [{ delete: PS }] });
    await put(store, PS, 'host:1');
    return { key: PS, token: (await store.get(PS))!.createRevision };
  }

  it('a save that waits for it says so, and leaves no file when it is given up', async () => {
    const disk = createSimulatedDisk();
    const fence = await claim();
    const parameters = filledParameters(JOB);
    const log = new RecordingLog();
    const ended = new AbortController();
    store.txn = async () => {
      throw new PaddletError('StoreUnavailable', 'cut off');
    };
    const saving = saveCheckpoint({
      ...{ storage: disk.storage, store, clock, fence, parameters, folder: PLACE.folder, keys, keep: 1, readStaying },
      meta: metaOf(JOB, { uuid: uuidOf(1), token: fence.token }),
      shards: parameters.shards(),
      momentOf: momentOf(100),
      signal: ended.signal,
      onWaiting: storeWaitLogger({ clock, log, store }),
    });
    const outcome = expect(saving).rejects.toMatchObject({ code: 'Interrupted' });
    while (log.messages.length === 0) await clock.advance(10);
    expect(log.messages).toEqual([expect.stringContaining('waiting for the store')]);
    expect(await disk.list(`${PLACE.folder}/${PLACE.index}`)).toEqual([uuidOf(1)]);
    ended.abort();
    await outcome;
    expect(await disk.list(`${PLACE.folder}/${PLACE.index}`)).toEqual([]);
  });

  it('a parting snapshot is the newest file of the next owner, and replaces older ones', async () => {
    const disk = createSimulatedDisk();
    const older = await claim();
    const files: Generation[] = [];
    for (const number of [1, 2, 3]) {
      const parameters = filledParameters(JOB, undefined, number);
      const clean = number === 3;
      const meta = metaOf(JOB, { uuid: uuidOf(number), token: older.token, clean });
      files.push(await save({ disk, parameters, meta }));
    }
    const [first, second, snapshot] = files as [Generation, Generation, Generation];
    const published = { store, clock, fence: older, keys, index: PLACE.index, keep: 1, readStaying };
    await publish({ ...published, generation: first });
    await publish({ ...published, generation: second });

    const fence = await claim();
    const context = {
      host: { storage: disk.storage, clock, log: SILENT },
      store,
      keys,
      stop: new AbortController().signal,
    } as never;
    const options = { context, fence, index: PLACE.index, folder: PLACE.folder, keep: 1 };
    await adoptParting(options, snapshot);
    const { entry } = await readEntry(store, KEY);
    expect(generationsOf(entry!).map(({ uuid }) => uuid)).toEqual([snapshot.uuid, second.uuid]);
    expect(await disk.exists(`${PLACE.folder}/${PLACE.index}/${first.uuid}`)).toBe(false);
    const into = emptyParameters(JOB);
    await loadUsable(generationsOf(entry!), { storage: disk.storage, place: PLACE, expected: JOB, into });
    expect(contentOf(into, JOB)).toEqual(contentOf(filledParameters(JOB, undefined, 3), JOB));

    await adoptParting(options, snapshot);
    expect((await readEntry(store, KEY)).entry).toEqual(entry);
    await claim();
    await expect(adoptParting(options, { ...snapshot, uuid: uuidOf(4) })).rejects.toMatchObject({ code: 'LeaseGone' });
  });
});
