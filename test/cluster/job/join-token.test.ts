/** The join token as processes read it from the store. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { newJoinToken, parseJoinToken, StoredJoinToken } from '../../../src/cluster/job/join-token.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { ManualClock, MemoryLog } from '../../protocol/rig.ts';

const keys = keysOf('/paddlet/j');
const [A, B] = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string];
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

async function open() {
  const clock = new ManualClock();
  const log = new MemoryLog();
  const store = await openStore('memory:', { clock, log });
  onTestFinished(() => store.close());
  const put = (value: string) => store.txn({ if: [], then: [{ put: keys.token, value }] });
  const token = new StoredJoinToken({ store, keys, clock, log });
  return { clock, log, store, put, token };
}

test('there is none before the job, and then the one in the store', async () => {
  const { clock, put, token } = await open();
  expect(await token.current()).toBeUndefined();
  await put(A);
  clock.advance(1_000);
  expect(await token.current()).toEqual(bytes(A));
});

test('another one is found by asking again, at most once a second, however many ask', async () => {
  const { clock, store, put, token } = await open();
  await put(A);
  expect(await token.current()).toEqual(bytes(A));
  await put(B);
  const get = vi.spyOn(store, 'get');
  for (let i = 0; i < 10; i++) expect(await token.refresh()).toEqual(bytes(A));
  expect(get).not.toHaveBeenCalled();
  clock.advance(1_000);
  expect(await Promise.all([token.refresh(), token.refresh()])).toEqual([bytes(B), bytes(B)]);
  expect(get).toHaveBeenCalledTimes(1);
});

test('a role follows it, and is not set back by a read that was under way', async () => {
  const { store, put, token } = await open();
  await put(A);
  const old = await store.get(keys.token);
  const reading = Promise.withResolvers<typeof old>();
  vi.spyOn(store, 'get').mockReturnValueOnce(reading.promise);
  const read = token.refresh();
  onTestFinished(token.follow());
  await put(B);
  await expect.poll(() => token.current()).toEqual(bytes(B));
  reading.resolve(old);
  expect(await read).toEqual(bytes(B));
});

test('a value that is none is refused without being shown', async () => {
  const { log, put, token } = await open();
  await put('secret'.repeat(12));
  await expect(token.current()).rejects.toMatchObject({ code: 'StoreValueInvalid' });
  onTestFinished(token.follow());
  await log.said(/cannot watch the join token/);
  expect(log.lines.join()).not.toContain('secret');
  expect(() => parseJoinToken({ key: '/t', value: A.toUpperCase() })).toThrowError('32 bytes in hexadecimal');
});

test('new ones are of the right form, and differ', () => {
  const random = { uuid: () => crypto.randomUUID(), fraction: () => 0 };
  const made = [newJoinToken(random), newJoinToken(random)];
  for (const value of made) expect(parseJoinToken({ key: '/t', value })).toHaveLength(32);
  expect(made[0]).not.toBe(made[1]);
});
