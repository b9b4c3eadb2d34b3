/** A pserver dies, or is held up for longer than its lease. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, resultOf } from './harness.ts';
import { holdUp } from './hold-up.ts';
import { expectWhole, JOB, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, liveProcesses, oneOf, ROLES, startRun } from './run.ts';

const LEASE_LOST = 5;
const INTERRUPTED = 130;

test.each([
  {
    has: 'no checkpoint',
    checkpoint: {},
    says: /died without a checkpoint: 16 shards start from their initial values and are repaired/,
  },
  { has: 'a checkpoint of each pass', checkpoint: { everyPasses: 1 }, says: /its later updates are repaired/ },
])('SIGKILL of a pserver that has $has, in mid-run: what is lost with it is repaired, exactly', async (known) => {
  const place = openPlace();
  const { running, store } = await startRun(
    place,
    await plantedJob(place, { ...UNHURRIED_JOB, checkpoint: known.checkpoint }),
  );
  const { index, pid } = oneOf(await liveProcesses(place, ROLES), 'pserver');
  await store.passesOver(3, running);
  process.kill(pid, 'SIGKILL');
  await expectMidRun(store);
  await running.said(new RegExp(`pserver ${index} ended \\(SIGKILL\\); restarting it`));

  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
  expect(readFileSync(place.path(JOB_FOLDER, `logs/pserver-${index}.log`), 'utf8')).toMatch(known.says);
});

test('SIGSTOP of a pserver for longer than its lease: it serves nothing more, and is started again where it was', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place));
  const { index = -1, pid, address } = oneOf(await liveProcesses(place, ROLES), 'pserver');
  await store.passesOver(2, running);
  await holdUp(store, { index, pid, address });
  await running.said(new RegExp(`pserver ${index} ended \\(exit code ${LEASE_LOST}\\); restarting it`));

  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
  const log = readFileSync(place.path(JOB_FOLDER, `logs/pserver-${index}.log`), 'utf8');
  const [, uuid] = /parting snapshot (\S+) announced/.exec(log) ?? [];
  expect(log).toContain(`serving 16 shards as index ${index} from=${uuid}`);
});

const reason = whyNoEtcd();
describe.skipIf(reason !== undefined)(`on etcd${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('SIGINT of a pserver while the store is unreachable: it waits for it, and saves its parameters', async () => {
    const place = openPlace();
    const etcd = await startEtcd();
    const job = await plantedJob(place, { ...JOB, cluster: { ...JOB.cluster, leaseTtl: '30s' } });
    const cluster = await startByHand(place, job, etcd.url);
    const { store, master } = cluster;
    const [pserver] = cluster.pservers;
    await store.passesOver(2, master);
    await etcd.pause();
    pserver.kill('SIGINT');
    await pserver.said(/draining: saving the parameters.*waiting for the store/s);
    etcd.resume();
    expect((await pserver.ended).code).toBe(INTERRUPTED);
    await expectMidRun(store);
    expect(JSON.parse((await store.get('/checkpoints/0'))!.value)).toMatchObject({ clean: true });
    cluster.again('pserver 0');

    await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
  });
});
