/** A pserver that was started by hand is held up for longer than its lease. */
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, resultOf } from './harness.ts';
import { holdUp } from './hold-up.ts';
import { expectWhole, PATIENT_JOB, plantedJob } from './planted-job.ts';

const LEASE_LOST = 5;

const reason = whyNoEtcd();
describe.skipIf(reason !== undefined)(`on etcd${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('SIGSTOP of a pserver for longer than its lease: it exits with 5, and the same command takes over', async () => {
    const place = openPlace();
    const etcd = await startEtcd();
    const cluster = await startByHand(place, await plantedJob(place, PATIENT_JOB), etcd.url);
    const { store, master } = cluster;
    const [pserver] = cluster.pservers;
    await store.passesOver(2, master);
    const address = (await store.get('/ps/0'))!.value;
    await holdUp(store, { index: 0, pid: pserver.pid, address });
    const ended = await pserver.ended;
    expect(ended.code).toBe(LEASE_LOST);
    expect(ended.err).toMatch(/parting snapshot \S+ announced/);
    expect(ended.err).toMatch(/^error LeaseGone: /m);
    const again = cluster.again('pserver 0');

    await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
    expect((await again.ended).code).toBe(0);
  });
});
