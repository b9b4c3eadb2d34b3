/** Each declared capability is kept, and one that is declared absent is indeed absent. */
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreProcess } from '../store/store-process.ts';
import { failureOf, put, SILENT, WatchRecorder } from '../store/support.ts';
import type { Capabilities } from './capabilities.ts';
import type { StoreHarness } from './store-contract.ts';

/** These tests restart, wipe and share stores: each starts its own. */
export function capabilityContract(capabilities: Capabilities, start: () => Promise<StoreHarness>): void {
  sharing(capabilities, start);
  restarts(capabilities, start);
  if (capabilities.canBeReplaced) replacement(start);

  it(`grants leases in steps of ${capabilities.leaseTtlStepMs} ms`, async () => {
    const { store } = await fresh(start);
    const step = capabilities.leaseTtlStepMs;
    const askedMs = 10_001;
    const { leaseId, grantedTtlMs } = await store.leaseGrant(askedMs);
    expect(grantedTtlMs).toBe(Math.ceil(askedMs / step) * step);
    expect(await store.leaseKeepAlive(leaseId)).toEqual({ grantedTtlMs });
  });
}

async function fresh(start: () => Promise<StoreHarness>): Promise<{ harness: StoreHarness; store: Store }> {
  const harness = await start();
  onTestFinished(() => harness.stop());
  const store = await harness.connect();
  onTestFinished(() => store.close());
  return { harness, store };
}

function sharing({ sharedBetweenProcesses }: Capabilities, start: () => Promise<StoreHarness>): void {
  if (sharedBetweenProcesses) {
    it('is shared with other processes that open its URL', async () => {
      const { harness, store } = await fresh(start);
      const watch = new WatchRecorder(store, '/shared/', 1n);
      const writer = new StoreProcess(harness.url, 'write', ['/shared/']);
      onTestFinished(() => writer.kill());
      await watch.until((story) => story.length > 0);
      watch.cancel();
    });
  } else {
    it('is not shared: each opening of its URL has data of its own', async () => {
      const { harness } = await fresh(start);
      const open = (): Promise<Store> => openStore(harness.url, { clock: harness.clock, log: SILENT });
      const [one, two] = [await open(), await open()];
      await put(one, '/a', '1');
      expect(await two.get('/a')).toBeUndefined();
      await Promise.all([one.close(), two.close()]);
    });
  }
}

function restarts({ survivesRestart }: Capabilities, start: () => Promise<StoreHarness>): void {
  it(`${survivesRestart ? 'keeps' : 'loses'} its data when everything that uses it ends`, async () => {
    const { harness, store } = await fresh(start);
    const { clusterId } = await store.identity();
    const { leaseId, grantedTtlMs } = await store.leaseGrant(60_000);
    const { revision } = await put(store, '/a', '1', leaseId);
    await store.close();
    await harness.restart();
    const again = await openStore(harness.url, { clock: harness.clock, log: SILENT });
    onTestFinished(() => again.close());
    if (survivesRestart) {
      expect(await again.get('/a')).toMatchObject({ value: '1', createRevision: revision, leaseId });
      expect((await again.identity()).clusterId).toBe(clusterId);
      expect(await again.leaseKeepAlive(leaseId)).toEqual({ grantedTtlMs });
    } else {
      expect(await again.get('/a')).toBeUndefined();
      expect((await failureOf(again.leaseKeepAlive(leaseId))).code).toBe('LeaseGone');
    }
  });
}

function replacement(start: () => Promise<StoreHarness>): void {
  it('answers StoreReplaced when its data was replaced, and does not pass for an empty store', async () => {
    const { harness, store } = await fresh(start);
    await put(store, '/a', '1');
    const { revision } = await put(store, '/a', '2');
    const watch = new WatchRecorder(store, '/', revision);
    await watch.until((story) => story.length === 1);
    await harness.replace!();
    expect(await watch.ended).toMatchObject({ code: 'StoreReplaced' });
    const calls = [store.get('/a'), put(store, '/a', '3'), store.identity(), store.leaseGrant(60_000)];
    const failures = await Promise.all(calls.map(failureOf));
    expect(failures.map(({ code }) => code)).toEqual(calls.map(() => 'StoreReplaced'));
  });
}
