import { expect, it } from 'vitest';
import { isPaddletError } from '../../src/base/errors.ts';
import type { Clock } from '../../src/base/seams.ts';
import { keepLease } from '../../src/store/lease-keeper.ts';
import type { LeaseGrant, Store } from '../../src/store/store.ts';
import { create, failureOf, put, WatchRecorder } from '../store/support.ts';
import type { ContractWorld } from './store-contract.ts';

/** Puts the key on a lease of its own: on another one when the lease had run out before the key was put. */
async function hang(
  store: Store,
  clock: Clock,
  key: string,
  ttlMs: number,
): Promise<LeaseGrant & { sentAtMs: number }> {
  for (;;) {
    const sentAtMs = clock.monotonicMs();
    const grant = await store.leaseGrant(ttlMs);
    try {
      await put(store, key, '1', grant.leaseId);
      return { ...grant, sentAtMs };
    } catch (error) {
      if (!isPaddletError(error, 'LeaseGone')) throw error;
    }
  }
}

export function leaseContract(world: ContractWorld): void {
  it('ends a lease when asked, deleting its keys in one revision', async () => {
    const { store, other, prefix } = world;
    const { leaseId, grantedTtlMs } = await store.leaseGrant(60_000);
    expect(grantedTtlMs).toBe(60_000);
    await put(store, `${prefix}a`, '1', leaseId);
    const { revision } = await put(store, `${prefix}b`, '2', leaseId);
    await put(store, `${prefix}c`, '3');
    expect((await other.get(`${prefix}a`))?.leaseId).toBe(leaseId);
    const watch = new WatchRecorder(other, prefix, revision + 1n);
    await store.leaseRevoke(leaseId);
    await watch.until((story) => story.includes(`-${prefix}b`));
    expect(watch.story).toEqual([`${prefix}c=3`, `-${prefix}a`, `-${prefix}b`]);
    expect(watch.revisions).toHaveLength(2);
    watch.cancel();
    await store.leaseRevoke(leaseId);
    expect((await failureOf(store.leaseKeepAlive(leaseId))).code).toBe('LeaseGone');
  });

  it('refuses to hang a key on a lease that is no more, and does nothing of the transaction', async () => {
    const { store, prefix } = world;
    const { leaseId } = await store.leaseGrant(60_000);
    await store.leaseRevoke(leaseId);
    const then = [
      { put: `${prefix}a`, value: '1' },
      { put: `${prefix}b`, value: '2', leaseId },
    ];
    expect((await failureOf(store.txn({ if: [], then }))).code).toBe('LeaseGone');
    expect((await store.range({ prefix })).entries).toEqual([]);
  });

  it('takes a key off its lease when it is put without one', async () => {
    const { store, prefix } = world;
    const { leaseId } = await store.leaseGrant(60_000);
    await put(store, `${prefix}a`, '1', leaseId);
    await put(store, `${prefix}a`, '2');
    await store.leaseRevoke(leaseId);
    expect(await store.get(`${prefix}a`)).toMatchObject({ value: '2', leaseId: 0n });
  });

  it('lets a lease run out that is not renewed, and keeps the one that is renewed', async () => {
    const { store, other, prefix, harness } = world;
    const { clock, leaseTtlMs } = harness;
    const watch = new WatchRecorder(other, prefix, 1n);
    // A process that was held up for too long to renew may lose its lease, which shows nothing: it tries again.
    for (let attempt = 0, isShown = false; !isShown; attempt++) {
      const [key, ...others] = ['kept', 'one', 'two'].map((name) => `${prefix}${name}-${attempt}`) as [string];
      const kept = await hang(store, clock, key, 2 * leaseTtlMs);
      const story: string[] = [];
      const keeper = keepLease({
        ...{ store, clock, ...kept },
        onSuspend: () => story.push('suspended'),
        onResume: () => {},
        onLost: ({ code }) => story.push(code),
      });
      // Two leases of half its length, one after the other, outlast its first term.
      for (const short of others) {
        const { leaseId } = await hang(other, clock, short, leaseTtlMs);
        await watch.untilDeleted(short);
        expect((await failureOf(other.leaseKeepAlive(leaseId))).code).toBe('LeaseGone');
      }
      const entry = await other.get(key);
      // Not before its owner had to expect it.
      expect(story[0]).not.toBe('LeaseGone');
      isShown = story.length === 0 && keeper.isHeld();
      if (isShown) expect(entry?.leaseId).toBe(kept.leaseId);
      keeper.stop();
      await watch.untilDeleted(key);
    }
    watch.cancel();
  });

  it('frees an ownership key for the next owner, who waits by watching', async () => {
    const { store, other, prefix, harness } = world;
    const key = `${prefix}owner`;
    const { leaseId } = await store.leaseGrant(60_000);
    await put(store, key, 'first', leaseId);
    expect(await create(other, key, 'second')).toBe(false);
    const watch = new WatchRecorder(other, key, 1n);
    await hang(store, harness.clock, key, harness.leaseTtlMs);
    await watch.untilDeleted(key);
    watch.cancel();
    expect(await create(other, key, 'second')).toBe(true);
  });
}
