/** A pserver whose units have copies is held up, or is killed and comes back: it serves nothing old. */
import { expect, test } from 'vitest';
import { isPaddletError } from '../../src/base/errors.ts';
import { askPosition } from './ask-position.ts';
import { COPIES, expectNothingLost, isOk, ledBy, startCopied, tokenOf } from './copied-job.ts';
import { endWell, openPlace } from './harness.ts';
import { freeze } from './processes.ts';
import { expectMidRun } from './run.ts';

const STOPPED_MS = 10_000;
const LONG_LEASE_MS = 15_000;
const SHORT_LEASE_MS = 5_000;
const LEASE_LOST = 5;

/** How long the fault lasts: nothing is waited for. */
const stopped = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, STOPPED_MS));

const sqlite = (folder: string): string => `sqlite:${folder}/store.db`;

test('SIGSTOP of a pserver for 10 s, less than its lease: no copy of its units is taken out', async () => {
  const place = openPlace();
  const cluster = await startCopied(place, sqlite(place.folder), LONG_LEASE_MS);
  const { store, heads, master, pservers, others } = cluster;
  const [pserver] = pservers;
  heads.keepCopies(COPIES);
  const done = await expectMidRun(store);
  await freeze(pserver!.pid, store.url);
  await stopped();
  pserver!.kill('SIGCONT');
  await store.until((entries) => entries.has('/tasks/passes/1') && isOk(entries), master);
  expect(await expectMidRun(store)).toBeGreaterThan(done);

  await expectNothingLost(cluster);
  await endWell([...pservers, ...others]);
});

test('SIGSTOP of a pserver for 10 s, twice its lease: others lead its units, and it answers nothing more', async () => {
  const place = openPlace();
  const cluster = await startCopied(place, sqlite(place.folder), SHORT_LEASE_MS);
  const { store, master, pservers, others } = cluster;
  const [pserver, ...rest] = pservers;
  const token = await tokenOf(store, 0);
  const ask = await askPosition(store, (await store.get('/ps/0'))!.value);
  await freeze(pserver!.pid, store.url);
  const answer = ask().catch((error: unknown) => error);
  await Promise.all([stopped(), store.until((entries) => ledBy(entries, token).length === 0, master)]);
  await expectMidRun(store);
  pserver!.kill('SIGCONT');
  const refused = await answer;
  expect(isPaddletError(refused, 'Suspended', 'Draining', 'ConnectionLost') ? 'refused' : refused).toBe('refused');
  expect((await pserver!.ended).code).toBe(LEASE_LOST);
  const again = cluster.again(0);

  await expectNothingLost(cluster);
  await endWell([again, ...rest, ...others]);
});

test('SIGKILL of a pserver that comes back at once: it leads nothing that it led before, until it has a copy', async () => {
  const place = openPlace();
  const cluster = await startCopied(place, sqlite(place.folder), SHORT_LEASE_MS);
  const { store, heads, master, pservers, others } = cluster;
  const [pserver, ...rest] = pservers;
  const token = await tokenOf(store, 0);
  const led = ledBy(await store.entries(), token);
  expect(led.length).toBeGreaterThan(0);
  pserver!.kill('SIGKILL');
  const again = cluster.again(0);
  await store.until((entries) => entries.has('/ps/0') && ledBy(entries, token).length === 0 && isOk(entries), master);
  await expectMidRun(store);
  expect(await tokenOf(store, 0)).not.toBe(token);
  for (const key of led) expect(heads.led).toContain(key);

  await expectNothingLost(cluster);
  await endWell([again, ...rest, ...others]);
  expect(again.err).not.toMatch(/serving \d+ shards as index/);
});
