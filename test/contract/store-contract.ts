/** What every store promises, written once and run on all of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/seams.ts';
import type { Store } from '../../src/store/store.ts';
import type { Capabilities } from './capabilities.ts';
import { capabilityContract } from './capability-contract.ts';
import { leaseContract } from './lease-contract.ts';
import { transactionContract } from './transaction-contract.ts';
import { watchContract } from './watch-contract.ts';

/** One kind of store, holding one set of data. */
export interface StoreHarness {
  readonly clock: Clock;
  readonly url: string;
  /** A new connection to the same data, as another process has. */
  connect(): Promise<Store>;
  /** Forgets history up to `revision`. */
  compact(revision: bigint): Promise<void>;
  /** Of a lease that is to run out in the test: short, but there is time to renew it. */
  readonly leaseTtlMs: number;
  /** Restarts the server, if there is one. */
  restart(): Promise<void>;
  /** Puts an empty store in the place of this one; for stores that can be replaced. */
  replace?(): Promise<void>;
  stop(): Promise<void>;
}

/** What a test gets: two connections to the same data and a prefix that no other test uses. */
export interface ContractWorld {
  readonly harness: StoreHarness;
  readonly store: Store;
  readonly other: Store;
  readonly prefix: string;
}

export function storeContract(name: string, capabilities: Capabilities, start: () => Promise<StoreHarness>): void {
  describe(`${name} keeps the store's contract`, () => {
    let harness: StoreHarness;
    let store: Store;
    let other: Store;
    let prefix = '';
    let count = 0;
    const world: ContractWorld = {
      get harness() {
        return harness;
      },
      get store() {
        return store;
      },
      get other() {
        return other;
      },
      get prefix() {
        return prefix;
      },
    };

    beforeAll(async () => {
      harness = await start();
      store = await harness.connect();
      other = await harness.connect();
    });
    afterAll(async () => {
      await Promise.all([store.close(), other.close()]);
      await harness.stop();
    });
    beforeEach(() => {
      prefix = `/test-${count++}/`;
    });

    transactionContract(world);
    leaseContract(world);
    watchContract(world);
    capabilityContract(capabilities, start);

    it('has one identity for all its connections, and a revision that grows', async () => {
      const before = await store.identity();
      const { revision } = await store.txn({ if: [], then: [{ put: `${prefix}a`, value: '1' }] });
      const after = await other.identity();
      expect(after.clusterId).toBe(before.clusterId);
      expect(revision).toBeGreaterThan(before.revision);
      expect(after.revision).toBeGreaterThanOrEqual(revision);
    });

    it('is not used after it was closed', async () => {
      const third = await harness.connect();
      await third.get(`${prefix}a`);
      await third.close();
      await third.close();
      await expect(third.get(`${prefix}a`)).rejects.toThrow('closed store');
      await expect(third.txn({ if: [], then: [] })).rejects.toThrow('closed store');
      expect(() => third.watch(prefix, 1n, { onEvents: () => {}, onEnd: () => {} })).toThrow('closed store');
    });
  });
}
