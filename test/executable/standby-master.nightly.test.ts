/** A second master stands by, and takes over when the first is killed. */
import { expect, test } from 'vitest';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { expectMidRun } from './run.ts';

const INTERRUPTED = 130;

test('SIGKILL of the master in mid-run: the one that stood by goes on from where it was', async () => {
  const place = openPlace();
  const cluster = await startByHand(place, await plantedJob(place), `sqlite:${place.path('store.db')}`);
  const { store, master } = cluster;
  await store.passesOver(1, master);
  const standby = cluster.again('master');
  const [, held] = await standby.said(/waiting for the master lock, held by (\{.*\}); standing by/);
  expect(JSON.parse(held!)).toMatchObject({ pid: master.pid });
  const address = (await store.get('/master/addr'))?.value;
  master.kill('SIGKILL');
  await expectMidRun(store);
  await standby.said(/resuming in pass \d+ of \d+/);
  expect((await store.get('/master/addr'))?.value).not.toBe(address);
  await expectMidRun(store);

  await expectWhole(place, await resultOf(standby), place.path(HAND_FOLDER, 'checkpoints'));
  for (const role of [...cluster.pservers, ...cluster.trainers]) expect((await role.ended).code).toBe(0);
});

test('a job that is asked to stop is not taken over by the master that stood by', async () => {
  const place = openPlace();
  const url = `sqlite:${place.path('store.db')}`;
  const cluster = await startByHand(place, await plantedJob(place, UNHURRIED_JOB), url);
  const { store, master } = cluster;
  await store.passesOver(1, master);
  const standby = cluster.again('master');
  await standby.said(/waiting for the master lock/);
  expect(await place.json('stop', '--store', url)).toEqual({ stopped: true });
  for (const role of [master, standby, ...cluster.pservers, ...cluster.trainers]) {
    expect((await role.ended).code).toBe(INTERRUPTED);
  }
});
