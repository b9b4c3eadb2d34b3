/** Heads from before a restore count as those of its files; later ones stand. */
import { expect, test } from 'vitest';
import type { RoleContext } from '../../../../src/cluster/context.ts';
import { readRestored } from '../../../../src/roles/pserver/files/restored.ts';
import { keysOf } from '../../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { FakeClock, SILENT } from '../../../store/support.ts';

const keys = keysOf('/paddlet/small');

async function setUp() {
  const clock = new FakeClock();
  const store = new MemoryStore(new MemoryStoreData({ clock }));
  const context = {
    store,
    keys,
    host: { clock, log: SILENT },
    stop: new AbortController().signal,
  } as unknown as RoleContext;
  const put = (key: string, value: object) => store.txn({ if: [], then: [{ put: key, value: JSON.stringify(value) }] });
  const putHead = (unit: number, epoch: number) => {
    const owner = { index: 0, token: '4' };
    return put(keys.head(unit), { epoch, led: epoch, primary: owner, inSync: [owner] });
  };
  const headOf = async (unit: number) => (await readRestored(context)).headOf(unit, await store.get(keys.head(unit)));
  return { put, putHead, headOf };
}

test('without a restore a head is what its key says', async () => {
  const { putHead, headOf } = await setUp();
  await putHead(1, 2);
  expect(await headOf(1)).toMatchObject({ epoch: 2, primary: { index: 0, token: '4' } });
  expect(await headOf(2)).toBeUndefined();
});

test('after one, older heads and absent ones name the file with the unit, at no lower an epoch', async () => {
  const { put, putHead, headOf } = await setUp();
  await putHead(4, 9);
  await putHead(5, 2);
  await put(keys.restored, { token: '77', pservers: 3, epoch: 6, timestamp: 1 });
  await putHead(7, 3);
  const owner = (index: number) => ({ primary: { index, token: '77' }, inSync: [{ index, token: '77' }] });
  expect(await headOf(4)).toEqual({ epoch: 9, led: 9, ...owner(1) });
  expect(await headOf(5)).toEqual({ epoch: 6, led: 6, ...owner(2) });
  expect(await headOf(6)).toEqual({ epoch: 6, led: 6, ...owner(0) });
  expect(await headOf(7)).toMatchObject({ epoch: 3, primary: { index: 0, token: '4' } });
});
