import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { keepLease } from '../../src/store/lease-keeper.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import { FakeClock } from './support.ts';

const TTL = 3_000;

/** A process with a lease; its store can be cut off, and its clock stops with it. */
async function world() {
  const clock = new FakeClock();
  const serverClock = new FakeClock();
  const data = new MemoryStoreData({ clock: serverClock });
  const store = new MemoryStore(data);
  const { leaseKeepAlive } = store;
  const state = { isCutOff: false };
  store.leaseKeepAlive = async (leaseId) => {
    if (state.isCutOff) throw new PaddletError('StoreUnavailable', 'cut off');
    return leaseKeepAlive(leaseId);
  };
  const story: string[] = [];
  const sentAtMs = clock.monotonicMs();
  const grant = await store.leaseGrant(TTL);
  const keeper = keepLease({
    ...{ store, clock, sentAtMs, ...grant },
    onSuspend: () => story.push('suspended'),
    onResume: () => story.push('resumed'),
    onLost: (error) => story.push(`lost: ${error.code}`),
  });
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < ms; step += 100) {
      await serverClock.advance(100);
      await clock.advance(100);
    }
  };
  return { clock, serverClock, store, state, story, keeper, pass, leaseId: grant.leaseId };
}

describe('keepLease', () => {
  it('keeps a lease for many terms', async () => {
    const { keeper, story, pass } = await world();
    await pass(10 * TTL);
    expect(keeper.isHeld()).toBe(true);
    expect(story).toEqual([]);
    keeper.stop();
  });

  it('suspends at its own deadline while the store is unreachable, and resumes when the store still has the lease', async () => {
    const { keeper, story, clock, state } = await world();
    state.isCutOff = true;
    // The store's own clock stands still: it was stopped as well.
    await clock.advance(TTL - 1);
    expect(keeper.isHeld()).toBe(true);
    await clock.advance(1);
    expect(keeper.isHeld()).toBe(false);
    await clock.advance(4 * TTL);
    expect(story).toEqual(['suspended']);
    state.isCutOff = false;
    await clock.advance(1_000);
    expect(story).toEqual(['suspended', 'resumed']);
    expect(keeper.isHeld()).toBe(true);
    keeper.stop();
  });

  it('is lost only when the store says so', async () => {
    const { keeper, story, state, pass } = await world();
    state.isCutOff = true;
    await pass(3 * TTL);
    expect(story).toEqual(['suspended']);
    state.isCutOff = false;
    await pass(1_100);
    expect(story).toEqual(['suspended', 'lost: LeaseGone']);
    expect(keeper.isHeld()).toBe(false);
  });

  it('does not claim the lease when its timers are late', async () => {
    const { keeper, clock, story } = await world();
    clock.jump(TTL);
    expect(keeper.isHeld()).toBe(false);
    expect(story).toEqual([]);
    await clock.advance(0);
    expect(story).toEqual(['suspended', 'resumed']);
    keeper.stop();
  });

  it('is silent after it was stopped, also with a renewal in flight, and leaves no timer', async () => {
    const { keeper, clock, store, story, leaseId } = await world();
    let answer = (): void => {};
    store.leaseKeepAlive = () =>
      new Promise((_, reject) => {
        answer = () => reject(new PaddletError('LeaseGone', 'gone'));
      });
    await clock.advance(TTL / 2);
    keeper.stop();
    answer();
    await clock.advance(5 * TTL);
    expect(story).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(keeper.leaseId).toBe(leaseId);
    expect(keeper.isHeld()).toBe(false);
  });
});
