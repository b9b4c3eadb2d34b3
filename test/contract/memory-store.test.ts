import { createClock } from '../../src/host/clock.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import { storeContract } from './store-contract.ts';

const CAPABILITIES = {
  sharedBetweenProcesses: false,
  survivesRestart: false,
  canBeReplaced: false,
  leaseTtlStepMs: 1,
};

storeContract('MemoryStore', CAPABILITIES, async () => {
  const clock = createClock();
  const data = new MemoryStoreData({ clock });
  return {
    clock,
    url: 'memory:',
    leaseTtlMs: 200,
    connect: async () => new MemoryStore(data),
    compact: async (revision) => data.compact(revision),
    restart: async () => {},
    stop: async () => {},
  };
});
