import { expect, it } from 'vitest';
import { keepLease } from '../../src/store/lease-keeper.ts';
import { create, failureOf, put, WatchRecorder } from '../store/support.ts';
import type { ContractWorld } from './store-contract.ts';

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
    const sentAtMs = clock.monotonicMs();
    const kept = await store.leaseGrant(2 * leaseTtlMs);
    await put(store, `${prefix}kept`, '1', kept.leaseId);
    const losses: unknown[] = [];
    const keeper = keepLease({
      ...{ store, clock, sentAtMs, ...kept },
      onSuspend: () => {},
      onResume: () => {},
      onLost: (error) => losses.push(error),
    });
    const watch = new WatchRecorder(other, prefix, 1n);
    // Two leases of half its length, one after the other, outlast its first term.
    for (const key of [`${prefix}one`, `${prefix}two`]) {
      const { leaseId } = await other.leaseGrant(leaseTtlMs);
      await put(other, key, '1', leaseId);
      await watch.untilDeleted(key);
      expect((await failureOf(other.leaseKeepAlive(leaseId))).code).toBe('LeaseGone');
    }
    expect((await other.get(`${prefix}kept`))?.leaseId).toBe(kept.leaseId);
    expect(losses).toEqual([]);
    keeper.stop();
    await watch.untilDeleted(`${prefix}kept`);
    watch.cancel();
  });

  it('frees an ownership key for the next owner, who waits by watching', async () => {
    const { store, other, prefix, harness } = world;
    const key = `${prefix}owner`;
    const { leaseId } = await store.leaseGrant(harness.leaseTtlMs);
    await put(store, key, 'first', leaseId);
    expect(await create(other, key, 'second')).toBe(false);
    const watch = new WatchRecorder(other, key, 1n);
    await watch.untilDeleted(key);
    watch.cancel();
    expect(await create(other, key, 'second')).toBe(true);
  });
}
