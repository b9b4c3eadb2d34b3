/** The store stands still until all leases have ended: what pservers have in memory is all that there is. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { referenceOf } from '../sync/reference-loop.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { type Entries, openJobStore } from './job-store.ts';
import { expectWhole, JOB, LEASE_MS, plantedJob } from './planted-job.ts';
import { describeProcesses, expectMidRun, JOB_FOLDER } from './run.ts';

const reason = whyNoEtcd();
const PSERVERS = 3;
const COPIED = { ...JOB, cluster: { ...JOB.cluster, pservers: PSERVERS, replicas: 2 } };
/** The job lasts until the store is there again. */
const SLOWLY = { PADDLET_FAIL: 'trainer.dealt:delay=100' };

const isOk = (entries: Entries): boolean =>
  entries.get('/pserver_cluster_status')?.value.includes('"cluster_status":"OK"') === true;

const logsOf = (place: Place): string[] =>
  [0, 1, 2].map((index) => readFileSync(place.path(JOB_FOLDER, `logs/pserver-${index}.log`), 'utf8'));

/** How long the fault lasts: nothing is waited for. */
const outage = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(reason !== undefined)(`all leases end${reason === undefined ? '' : ` (${reason})`}`, () => {
  test.each([
    { what: 'all pservers live', isOneKilled: false },
    { what: 'one of them is killed in the meantime', isOneKilled: true },
  ])('$what: nothing that was acknowledged has to be repaired', async ({ isOneKilled }) => {
    const place = openPlace();
    const etcd = await startEtcd();
    const job = await plantedJob(place, COPIED);
    const args = ['run', job, '--dir', JOB_FOLDER, '--store', etcd.url, '--json'];
    const running = place.start('run', args, SLOWLY);
    const store = await openJobStore(etcd.url, JOB.name);
    await store.passesOver(1, running);
    await store.until(isOk, running);
    const live = await describeProcesses(place, ['--store', etcd.url], 1 + PSERVERS);
    const { pid } = live.find(({ role, index }) => role === 'pserver' && index === 1)!;
    await expectMidRun(store);
    await etcd.pause();
    if (isOneKilled) process.kill(pid, 'SIGKILL');
    await outage(3 * LEASE_MS);
    await etcd.resume();
    await expectMidRun(store);

    await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
    expect(await store.get('/recovery')).toBeUndefined();
    const parted = logsOf(place).filter((log) => /parting snapshot \S+ announced/.test(log));
    expect(parted).toHaveLength(isOneKilled ? PSERVERS - 1 : PSERVERS);
  });

  test('sync mode, all pservers live: the bits are those of a plain loop', async () => {
    const place = openPlace();
    const etcd = await startEtcd();
    const sync = { ...COPIED, training: { mode: 'sync', lanes: 4, passes: 4, batchSize: 50 } };
    const job = await plantedJob(place, { ...sync, checkpoint: { interval: '1s' } });
    const args = ['run', job, '--dir', JOB_FOLDER, '--store', etcd.url, '--json'];
    const running = place.start('run', args, { PADDLET_FAIL: 'trainer.lanes-pushed:delay=100' });
    const store = await openJobStore(etcd.url, JOB.name);
    await store.until((entries) => isOk(entries) && entries.has('/checkpoints/cut'), running);
    await etcd.pause();
    await outage(3 * LEASE_MS);
    await etcd.resume();
    expect(await store.get('/result')).toBeUndefined();

    const { modelDigest, stateDigest, records } = await resultOf(running);
    const plain = await referenceOf(sync, place.path());
    expect({ modelDigest, stateDigest }).toEqual({ modelDigest: plain.modelDigest, stateDigest: plain.stateDigest });
    expect(records).toMatchObject({ applied: plain.applied, bad: 0, discarded: 0, lost: 0 });
    const parted = logsOf(place).filter((log) => /parting snapshot \S+ announced/.test(log));
    expect(parted).toHaveLength(PSERVERS);
  });
});
