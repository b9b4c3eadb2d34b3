import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import { settle } from '../../src/store/retry-transaction.ts';
import type { TxnResult } from '../../src/store/store.ts';
import { FakeClock, failureOf } from './support.ts';

type Fate = 'ok' | 'unavailable' | 'lost request' | 'lost answer' | 'lands later';

/** Runs one create-only transaction through a connection with the given fates, one a try. */
function world(...fates: Fate[]) {
  const clock = new FakeClock();
  const store = new MemoryStore(new MemoryStoreData({ clock }));
  const tries: Fate[] = [];
  const late: (() => Promise<TxnResult>)[] = [];
  const apply = () => store.txn({ if: [{ key: '/a', createRevision: 0n }], then: [{ put: '/a', value: 'mine' }] });
  const run = async (): Promise<TxnResult> => {
    const fate = fates.shift() ?? 'ok';
    tries.push(fate);
    if (fate === 'unavailable') throw new PaddletError('StoreUnavailable', fate);
    if (fate === 'lost answer') await apply();
    if (fate === 'lands later') late.push(apply);
    if (fate !== 'ok') throw new PaddletError('StoreUnknownOutcome', fate);
    for (const land of late.splice(0)) await land();
    return apply();
  };
  const happened = async () => (await store.get('/a'))?.value === 'mine';
  const waits: string[] = [];
  const onWaiting = (error: PaddletError): void => void waits.push(error.message);
  const outcome = settle({ clock, run, happened, onWaiting });
  return { clock, store, tries, waits, outcome, run, happened };
}

describe('settle', () => {
  it('answers at once when the store does', async () => {
    const { outcome, waits } = world('ok');
    expect(await outcome).toMatchObject({ succeeded: true, result: { revision: 2n } });
    expect(waits).toEqual([]);
  });

  it('repeats what was certainly not done', async () => {
    const { outcome, clock, tries, waits } = world('unavailable', 'unavailable', 'lost request');
    await clock.advance(5_000);
    expect(await outcome).toMatchObject({ succeeded: true });
    expect(tries).toHaveLength(4);
    expect(waits).toEqual(['unavailable', 'unavailable', 'lost request']);
  });

  it('learns by reading back that a write had landed, and does not repeat it', async () => {
    const { outcome, clock, tries, store } = world('lost answer');
    await clock.advance(1_000);
    expect(await outcome).toEqual({ succeeded: true, result: undefined });
    expect(tries).toEqual(['lost answer']);
    expect((await store.identity()).revision).toBe(2n);
  });

  it('takes a write that landed after it was read back for its own', async () => {
    const { outcome, clock, tries, store } = world('lands later');
    await clock.advance(1_000);
    expect(await outcome).toEqual({ succeeded: true, result: undefined });
    expect(tries).toEqual(['lands later', 'ok']);
    expect((await store.identity()).revision).toBe(2n);
  });

  it('tells of a compare that failed', async () => {
    const { clock, store, happened, run } = world('unavailable');
    await store.txn({ if: [], then: [{ put: '/a', value: "another's" }] });
    await clock.advance(1_000);
    expect(await settle({ clock, run, happened })).toMatchObject({ succeeded: false, result: { succeeded: false } });
  });

  it('passes on what waiting cannot fix', async () => {
    const clock = new FakeClock();
    const run = async () => {
      throw new PaddletError('LeaseGone', 'gone');
    };
    expect((await failureOf(settle({ clock, run, happened: async () => false }))).code).toBe('LeaseGone');
  });

  it('stops when told to', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const run = async () => {
      throw new PaddletError('StoreUnavailable', 'away');
    };
    const outcome = failureOf(settle({ clock, run, happened: async () => false, signal: stop.signal }));
    await clock.advance(10_000);
    stop.abort();
    expect((await outcome).code).toBe('Interrupted');
    expect(clock.pendingTimers).toBe(0);
  });
});
