/** Where Prometheus is told to look, by what is registered in the store. */
import { expect, it, onTestFinished } from 'vitest';
import { scrapeTargets } from '../../../src/cluster/job/scrape-targets.ts';
import { NOT_LISTENING, trainerEntryText } from '../../../src/cluster/trainer-entry.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { ManualClock, MemoryLog } from '../../protocol/rig.ts';

const keys = keysOf('/paddlet/ctr');

async function targetsWith(entries: Readonly<Record<string, string>>): Promise<unknown> {
  const store = await openStore('memory:', { clock: new ManualClock(), log: new MemoryLog() });
  onTestFinished(() => store.close());
  await store.txn({ if: [], then: Object.entries(entries).map(([put, value]) => ({ put, value })) });
  return scrapeTargets(store, keys, 'ctr');
}

const trainer = (address: string): string => trainerEntryText({ address, job: 'id' });

it('each pserver by its index, trainers together, with the labels of their series', async () => {
  const found = await targetsWith({
    [keys.masterAddr]: 'a:1',
    [keys.ps(0)]: 'b:1',
    [keys.ps(12)]: 'b:2',
    [`${keys.trainersPrefix}x`]: trainer('c:1'),
    [`${keys.trainersPrefix}y`]: trainer('c:2'),
    [`${keys.trainersPrefix}z`]: trainer(NOT_LISTENING),
  });
  expect(found).toEqual([
    { targets: ['a:1'], labels: { job: 'ctr', role: 'master' } },
    { targets: ['b:1'], labels: { job: 'ctr', role: 'pserver', index: '0' } },
    { targets: ['b:2'], labels: { job: 'ctr', role: 'pserver', index: '12' } },
    { targets: ['c:1', 'c:2'], labels: { job: 'ctr', role: 'trainer' } },
  ]);
});

it('none of a role that has no process', async () => {
  expect(await targetsWith({ [keys.ps(0)]: 'b:1' })).toEqual([
    { targets: ['b:1'], labels: { job: 'ctr', role: 'pserver', index: '0' } },
  ]);
});
