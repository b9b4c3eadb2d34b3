import { describe, it } from 'vitest';
import { createClock } from '../../src/host/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { EtcdServer, whyNoEtcd } from '../etcd-server.ts';
import { SILENT } from '../store/support.ts';
import { storeContract } from './store-contract.ts';

const CAPABILITIES = {
  sharedBetweenProcesses: true,
  survivesRestart: true,
  canBeReplaced: true,
  leaseTtlStepMs: 1_000,
};

const reason = whyNoEtcd();

if (reason !== undefined) describe.skip(`EtcdStore (${reason})`, () => it('keeps the contract', () => {}));
else {
  storeContract('EtcdStore', CAPABILITIES, async () => {
    const clock = createClock();
    const server = await EtcdServer.start();
    return {
      clock,
      url: server.url,
      leaseTtlMs: 3_000,
      connect: () => openStore(server.url, { clock, log: SILENT }),
      compact: (revision) => server.compact(revision),
      restart: () => server.restart(),
      replace: async () => {
        await server.wipe();
        await server.restart();
      },
      stop: () => server.stop(),
    };
  });
}
