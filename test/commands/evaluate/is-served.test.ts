/** `paddlet evaluate` asks pservers that serve all units or are about to, and otherwise scores checkpoints. */
import { beforeEach, expect, it } from 'vitest';
import { isServed } from '../../../src/commands/evaluate/is-served.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aJob, publishing, recordOf } from '../../cluster/job/stored-job.ts';
import { FakeClock, put } from '../../store/support.ts';

const keys = keysOf('/paddlet/test');
const record = recordOf(aJob());
let store: MemoryStore;

beforeEach(async () => {
  store = new MemoryStore(new MemoryStoreData({ clock: new FakeClock() }));
  await store.txn({ if: [], then: publishing(keys, record) });
  await put(store, keys.psDesired, '2');
});

const claim = (index: number): Promise<unknown> => put(store, keys.ps(index), `host:${index}`);
const served = (): Promise<boolean> => isServed(store, keys, record);

async function lead(units: number, index: number): Promise<void> {
  const token = (await store.get(keys.ps(index)))!.createRevision.toString();
  const primary = { index, token };
  for (let unit = 0; unit < units; unit++) {
    await put(store, keys.head(unit), JSON.stringify({ epoch: 1, led: 1, primary, inSync: [primary] }));
  }
}

it('by pservers that are about to take their units, if all that are wanted are there', async () => {
  expect(await served()).toBe(false);
  await claim(0);
  expect(await served()).toBe(false);
  await claim(1);
  expect(await served()).toBe(true);
});

it('by as many as the job has now', async () => {
  await claim(0);
  await put(store, keys.psDesired, '1');
  expect(await served()).toBe(true);
  await put(store, keys.psDesired, '3');
  await claim(1);
  expect(await served()).toBe(false);
});

it('not by pservers that leave, unless they lead all units still', async () => {
  for (const index of [2, 3]) await claim(index);
  expect(await served()).toBe(false);
  await lead(record.units, 3);
  expect(await served()).toBe(true);
});
