import { createClock } from '../../src/host/clock.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import { storeContract } from './store-contract.ts';

storeContract('MemoryStore', async () => {
  const clock = createClock();
  const data = new MemoryStoreData({ clock });
  return {
    clock,
    leaseTtlMs: 200,
    connect: async () => new MemoryStore(data),
    compact: async (revision) => data.compact(revision),
    stop: async () => {},
  };
});
