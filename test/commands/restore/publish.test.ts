/** `paddlet restore` does not wait for ever for a store that went away before the new files were published. */
import { expect, test } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { readQuietJob } from '../../../src/checkpoint/registry/quiet-job.ts';
import type { Restored } from '../../../src/checkpoint/restore/restore.ts';
import { publish } from '../../../src/commands/restore/publish.ts';
import type { Publishing } from '../../../src/commands/restore/source.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aJob, publishing, recordOf } from '../../cluster/job/stored-job.ts';
import { FakeClock } from '../../store/support.ts';

const keys = keysOf('/paddlet/test');
const LIMIT_MS = 10_000;
const GENERATION = {
  uuid: '6f8d2c1a-0000-4000-8000-00000000000f',
  md5: '0'.repeat(32),
  timestamp: 1,
  shards: [{ epoch: 1, seq: [0, 0], shards: '0-7' }],
};

test('it says so within the limit, and removes the files', async () => {
  const clock = new FakeClock();
  const store = new MemoryStore(new MemoryStoreData({ clock }));
  await store.txn({ if: [], then: publishing(keys, recordOf(aJob())) });
  const quiet = await readQuietJob({ store, keys, clock }, 0);
  const away: Store = Object.create(store, {
    txn: {
      value: async () => {
        throw new PaddletError('StoreUnavailable', 'no answer');
      },
    },
    range: { value: store.range.bind(store) },
  });
  const removed: string[] = [];
  const storage = { delete: async (path: string) => void removed.push(path) };
  const generations = [GENERATION];
  const job = {
    host: { clock, storage },
    store: away,
    keys,
    signal: new AbortController().signal,
    limitMs: LIMIT_MS,
  };
  const restored = { generations, paths: ['/new/0.safetensors'] };
  let ended: unknown;
  publish({ job, quiet } as unknown as Publishing, restored as unknown as Restored).catch((error: unknown) => {
    ended = error;
  });
  await clock.advance(2 * LIMIT_MS);
  expect(ended).toMatchObject({ code: 'StoreUnavailable' });
  expect(removed).toEqual(['/new/0.safetensors']);
});

test('it is refused when a pserver has started that the job does not want, but that led units', async () => {
  const clock = new FakeClock();
  const store = new MemoryStore(new MemoryStoreData({ clock }));
  await store.txn({ if: [], then: publishing(keys, recordOf(aJob())) });
  const primary = { index: 7, token: '5' };
  const head = { epoch: 1, led: 1, primary, inSync: [primary] };
  await store.txn({ if: [], then: [{ put: keys.head(0), value: JSON.stringify(head) }] });
  const quiet = await readQuietJob({ store, keys, clock }, 0);
  await store.txn({ if: [], then: [{ put: keys.ps(7), value: 'host:7' }] });
  const storage = { delete: async () => undefined };
  const job = {
    host: { clock, storage },
    store,
    keys,
    signal: new AbortController().signal,
    limitMs: LIMIT_MS,
  };
  const restored = { generations: [GENERATION], paths: ['/new/0.safetensors'] };
  const published = publish({ job, quiet } as unknown as Publishing, restored as unknown as Restored);
  await expect(published).rejects.toMatchObject({ code: 'JobConflict', message: expect.stringContaining('/ps/7') });
});
