/** What is known of the models of a job, in the store: each write once at most, in order, whatever becomes of it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { EvaluationKey } from '../../../../src/roles/master/best/evaluation-key.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { aStore, Master } from '../tasks/service-rig.ts';

let data: MemoryStoreData;
let master: Master;

const path = (): string => master.context.keys.evaluation;
const stored = (): string | undefined => data.get(path())?.value;
function keyOf({ context, fence, stopSignal }: Master): EvaluationKey {
  return new EvaluationKey({ context, fence, stopSignal: stopSignal.signal }, data.get(path()));
}

/** The outcome of a write, tried again as often as it takes. */
async function written(key: EvaluationKey, value: string, unchanged?: Parameters<EvaluationKey['write']>[1]) {
  const write = key.write(value, unchanged);
  await master.clock.advance(10_000);
  return write;
}

beforeEach(() => {
  const store = aStore();
  data = store.data;
  master = new Master(store.clock, data);
});

describe('a write', () => {
  it.each(['unavailable', 'unknownLanded', 'unknownLost', 'unknownLate'] as const)(
    'that is %s has its value stored, and none of its tries lands later',
    async (how) => {
      const key = keyOf(master);
      expect(await written(key, 'first')).toBe(true);
      master.troubled.next(how);
      expect(await written(key, 'second')).toBe(true);
      expect(stored()).toBe('second');
      expect(await written(key, 'third')).toBe(true);
      expect(master.troubled.landLate()).toEqual(how === 'unknownLate' ? [false] : []);
      expect(stored()).toBe('third');
    },
  );

  it('goes on where the master before left it', async () => {
    await written(keyOf(master), 'first');
    master = new Master(master.clock, data);
    const next = keyOf(master);
    expect(await written(next, 'second')).toBe(true);
    expect(await written(next, 'third')).toBe(true);
  });

  it('of a master that has lost the lock is none', async () => {
    const key = keyOf(master);
    new Master(master.clock, data);
    await expect(key.write('first', undefined)).rejects.toMatchObject({ code: 'LeaseGone' });
    expect(stored()).toBeUndefined();
  });

  it('on what another process has put there fails', async () => {
    const key = keyOf(master);
    data.txn({ if: [], then: [{ put: path(), value: 'of a stranger' }] });
    await expect(key.write('first', undefined)).rejects.toMatchObject({ code: 'StoreInvalid' });
    expect(stored()).toBe('of a stranger');
  });
});

describe('a write on a state that training has halted with', () => {
  const recovery = '/recovery';
  const raise = (): void => void data.txn({ if: [], then: [{ put: recovery, value: 'raised' }] });

  it('is none once that is gone; the next one is as good as any', async () => {
    const key = keyOf(master);
    expect(await written(key, 'first')).toBe(true);
    const before = { key: recovery, modRevision: 0n };
    raise();
    expect(await written(key, 'second', before)).toBe(false);
    expect(stored()).toBe('first');
    const now = { key: recovery, modRevision: data.get(recovery)!.modRevision };
    expect(await written(key, 'second', now)).toBe(true);
    expect(stored()).toBe('second');
  });

  it('that landed before that was gone counts', async () => {
    const key = keyOf(master);
    master.troubled.next('unknownLanded');
    const write = key.write('first', { key: recovery, modRevision: 0n });
    await master.clock.advance(0);
    raise();
    await master.clock.advance(10_000);
    expect(await write).toBe(true);
  });
});
