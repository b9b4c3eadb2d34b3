/** The job is stopped, or all leases end, where what a copy has of a unit is all that is left of it. */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { HAND_FOLDER } from './by-hand.ts';
import { type CopiedCluster, ledBy, startCopied, tokenOf } from './copied-job.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { expectWhole, LEASE_MS, PATIENT_LEASE_MS } from './planted-job.ts';
import type { Running } from './processes.ts';

const VICTIM = 1;

/** Master and trainers, without delays. */
function startOthers(place: Place, storeUrl: string): Running {
  const env = { PADDLET_STORE: storeUrl };
  for (const i of [0, 1]) place.start(`trainer ${i} again`, ['trainer'], env);
  return place.start('master again', ['master', 'job.yaml', '--json'], env);
}

/** Every record counted once, and no state of before the last acknowledged push was loaded. */
async function expectNothingRepaired({ place, store }: CopiedCluster, master: Running): Promise<void> {
  await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
  expect(await store.get('/recovery')).toBeUndefined();
}

test('the job stops while the lease of a killed pserver runs: a copy of its units is saved', async () => {
  const place = openPlace();
  const storeUrl = `sqlite:${place.path('store.db')}`;
  const cluster = await startCopied(place, storeUrl, PATIENT_LEASE_MS);
  const { store, pservers, master } = cluster;
  const token = await tokenOf(store, VICTIM);
  expect(ledBy(await store.entries(), token)).not.toEqual([]);
  pservers[VICTIM]!.kill('SIGKILL');
  await place.json('stop', '--store', storeUrl);
  const left = pservers.filter((_, index) => index !== VICTIM);
  for (const { ended } of [...left, master]) await ended;
  expect(ledBy(await store.entries(), token)).toEqual([]);

  for (const index of pservers.keys()) cluster.again(index);
  await expectNothingRepaired(cluster, startOthers(place, storeUrl));
});

const reason = whyNoEtcd();

/** How long the fault lasts: nothing is waited for. */
const outage = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(reason !== undefined)(`all leases end${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('and a primary can write nothing down: a copy of its units was, with all that was acknowledged', async () => {
    const place = openPlace();
    const etcd = await startEtcd();
    const cluster = await startCopied(place, etcd.url, LEASE_MS);
    const { store, pservers, master, others } = cluster;
    const token = await tokenOf(store, VICTIM);
    expect(ledBy(await store.entries(), token)).not.toEqual([]);
    await etcd.pause();
    for (const running of [...others, master]) running.kill('SIGKILL');
    const givenBack = blockFolder(place.path(HAND_FOLDER, 'checkpoints', String(VICTIM)));
    await outage(3 * LEASE_MS);
    await etcd.resume();
    const [first, victim, last] = pservers;
    await Promise.all([first!.ended, last!.ended]);
    expect([first, last].map((one) => /parting snapshot \S+ announced/.test(one!.err))).toEqual([true, true]);

    const startedAgain = startOthers(place, etcd.url);
    for (const index of [0, 2]) cluster.again(index);
    await victim!.said(/the parting snapshot is lost: another pserver has taken the shards/);
    await victim!.ended;
    expect(victim!.err).toContain('not written yet, and kept in memory');
    givenBack();
    cluster.again(VICTIM);
    await expectNothingRepaired(cluster, startedAgain);
  });
});

/** No file can be written there until the function that it gives is called. */
function blockFolder(path: string): () => void {
  const away = `${path}.away`;
  if (existsSync(path)) renameSync(path, away);
  else mkdirSync(away, { recursive: true });
  writeFileSync(path, '');
  return () => {
    rmSync(path);
    renameSync(away, path);
  };
}
