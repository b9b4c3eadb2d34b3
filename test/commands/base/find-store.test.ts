/** Waiting for the first job of a store: an interruption always ends it, a lost history never does. */
import { describe, expect, test } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { waitForChroot } from '../../../src/commands/base/find-store.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { settled, stateOf } from '../../roles/master/tasks/service-rig.ts';
import { FakeClock, RecordingLog } from '../../store/support.ts';
import { storeThrough } from '../store-through.ts';

function setUp() {
  const clock = new FakeClock();
  const data = new MemoryStoreData({ clock });
  const store = new MemoryStore(data);
  const log = new RecordingLog();
  const stop = new AbortController();
  const wait = (through: Store = store) => waitForChroot(through, {}, { clock, log }, stop.signal);
  const put = (key: string) => data.txn({ if: [], then: [{ put: key, value: '{}' }] });
  return { clock, data, store, log, stop, wait, put };
}

describe('waiting for the first job', () => {
  test('one that exists, and one that is published later', async () => {
    const { wait, put, log, clock } = setUp();
    const first = wait();
    await settled();
    expect(log.messages).toEqual(['waiting for a job in memory:']);
    put('/paddlet/a/master/lock');
    put('/paddlet/a/job');
    expect(await first).toBe('/paddlet/a');
    expect(await wait()).toBe('/paddlet/a');
    expect(clock.pendingTimers).toBe(0);
  });

  test('an interruption while it waits, also one without a reason, as when the launcher is gone', async () => {
    const { wait, stop } = setUp();
    const waiting = wait();
    await settled();
    stop.abort();
    expect(await stateOf(waiting)).toBe('refused: Interrupted');
  });

  test.each([1, 2])('an interruption while the store answers the range number %d', async (which) => {
    const { wait, store, stop } = setUp();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    let ranges = 0;
    const slow = storeThrough(store, {
      range: async (query) => {
        ranges += 1;
        if (ranges !== which) return store.range(query);
        asked.resolve();
        await answer.promise;
        return store.range(query);
      },
    });
    const waiting = wait(slow);
    await asked.promise;
    stop.abort(new PaddletError('Interrupted', 'stopped by SIGTERM'));
    answer.resolve();
    expect(await stateOf(waiting)).toBe('refused: Interrupted');
  });

  test('a history that was compacted is read again', async () => {
    const { wait, put, data, clock } = setUp();
    const waiting = wait();
    await settled();
    put('/paddlet/a/job');
    data.compact(data.revision);
    await clock.advance(1_000);
    expect(await stateOf(waiting)).toBe('/paddlet/a');
  });

  test('a store that is replaced ends it', async () => {
    const { wait, store } = setUp();
    const replaced = storeThrough(store, {
      watch: (_prefix, _from, handlers) => {
        queueMicrotask(() => handlers.onEnd(new PaddletError('StoreReplaced', 'wiped')));
        return () => {};
      },
    });
    expect(await stateOf(wait(replaced))).toBe('refused: StoreReplaced');
  });
});
