/** Roles started where something is in their way: a port, an index, a store that is not running yet. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, JOB, plantedJob, UNHURRIED_JOB } from './planted-job.ts';

const USAGE = 2;
const INTERRUPTED = 130;

test('a port in use is named', async () => {
  const place = openPlace();
  const holder = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void holder.close());
  await once(holder, 'listening');
  const address = `127.0.0.1:${(holder.address() as AddressInfo).port}`;
  const job = await plantedJob(place);
  const listen = ['--store', 'sqlite:store.db', '--listen', address];
  const master = await place.paddlet('master', job, ...listen);
  expect(master.code).toBe(USAGE);
  expect(master.err).toMatch(new RegExp(`^error PortInUse: .*${address}`, 'm'));
  const open = place.start('master', ['master', job, '--store', 'sqlite:store.db']);
  await open.said(/master at/);
  for (const role of ['pserver', 'trainer']) {
    const { code, err } = await place.paddlet(role, ...listen);
    expect(code).toBe(USAGE);
    expect(err).toMatch(new RegExp(`^error PortInUse: .*${address}`, 'm'));
  }
});

test('an index held by a live pserver and the deletion of a live job wait, then are refused; the job goes on', async () => {
  const place = openPlace();
  const url = `sqlite:${place.path('store.db')}`;
  // More passes than there is time for: it is running when the second pserver comes and when it goes.
  const job = await plantedJob(place, { ...UNHURRIED_JOB, training: { ...UNHURRIED_JOB.training, passes: 10_000 } });
  const cluster = await startByHand(place, job, url);
  const { store, master } = cluster;
  await store.passesOver(1, master);
  const holder = await store.get('/ps/0');
  const before = await store.tasksDone();
  const second = cluster.again('pserver 0');
  await second.said(/waiting for index 0: held by 127\.0\.0\.1:\d+; waiting for its lease to end, in case it is dead/);
  // No `paddlet run` has locked the folder: only the roles say that they are alive.
  const deletion = place.start('jobs delete', ['jobs', 'delete', JOB.name, '--store', url, '--yes']);
  const { code, err } = await second.ended;
  expect(code).toBe(USAGE);
  expect(err).toMatch(new RegExp(`^error IndexTaken: index 0 is held by a live pserver at ${holder?.value}`, 'm'));
  const deleted = await deletion.ended;
  expect([deleted.code, deleted.out]).toEqual([USAGE, '']);
  expect(deleted.err).toMatch(/^error JobConflict: processes of the job are running: .*\/ps\/0 = 127\.0\.0\.1:\d+/m);
  expect(deleted.err).toContain(
    `hint: stop the job first with \`paddlet stop --store ${url} --chroot /paddlet/${JOB.name}\``,
  );

  expect(await store.tasksDone()).toBeGreaterThan(before);
  expect(await store.get('/ps/0')).toEqual(holder);
  expect(await place.json('stop', '--store', url)).toEqual({ stopped: true });
  for (const role of [master, ...cluster.pservers, ...cluster.trainers]) {
    expect((await role.ended).code).toBe(INTERRUPTED);
  }
});

const reason = whyNoEtcd();
describe.skipIf(reason !== undefined)(`on etcd${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('roles wait for an etcd that is not running and log it; when it starts, the job runs', async () => {
    const place = openPlace();
    const etcd = await startEtcd();
    await etcd.kill();
    const { master, pservers, trainers } = await startByHand(place, await plantedJob(place, UNHURRIED_JOB), etcd.url);
    const roles = [master, ...pservers, ...trainers];
    for (const role of roles) await role.said(new RegExp(`waiting for the store ${etcd.url}`));
    await etcd.restart();

    await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
    for (const role of roles) expect((await role.ended).code).toBe(0);
  });
});
