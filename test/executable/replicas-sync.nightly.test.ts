/** Sync mode: pservers with copies of each other's units are killed. No round is repeated, and the bits stay. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { referenceOf } from '../sync/reference-loop.ts';
import { openPlace, resultOf } from './harness.ts';
import type { Entries } from './job-store.ts';
import { JOB, plantedJob } from './planted-job.ts';
import { liveProcesses, startRun } from './run.ts';

const PSERVERS = 3;
/** The launcher ends the leases of those that it has seen exit. */
const COPIED = {
  ...JOB,
  training: { mode: 'sync', lanes: 4, passes: 6, batchSize: 50 },
  checkpoint: { interval: '1s' },
  cluster: { ...JOB.cluster, pservers: PSERVERS, replicas: 2, leaseTtl: '15s' },
};
/** The job lasts until all have died. */
const SLOWLY = 'trainer.lanes-pushed:delay=100';

const statusSchema = z.object({ cluster_status: z.string() });
const cutSchema = z.object({ timeline: z.number(), round: z.number() });

const hasStatus =
  (wanted: 'OK' | 'UNHEALTHY') =>
  (entries: Entries): boolean => {
    const found = entries.get('/pserver_cluster_status');
    return found !== undefined && statusSchema.parse(JSON.parse(found.value)).cluster_status === wanted;
  };

const cutIn = (value: string | undefined) => cutSchema.parse(JSON.parse(value ?? '{"timeline":0,"round":0}'));

test('SIGKILL of one pserver after the other, each when all units have their copies: no cut is gone back to', async () => {
  const place = openPlace();
  const job = await plantedJob(place, COPIED);
  const plain = await referenceOf(COPIED, place.path());
  const { running, store } = await startRun(place, job, SLOWLY);
  for (const index of [1, 0, 2]) {
    await store.until(hasStatus('OK'), running);
    await store.until((entries) => cutIn(entries.get('/checkpoints/cut')?.value).round > 0, running);
    expect(await store.get('/result')).toBeUndefined();
    const live = await liveProcesses(place, 1 + PSERVERS);
    const { pid } = live.find((process) => process.role === 'pserver' && process.index === index)!;
    process.kill(pid, 'SIGKILL');
    await store.until(hasStatus('UNHEALTHY'), running);
  }
  await store.until(hasStatus('OK'), running);
  expect(await store.get('/result')).toBeUndefined();

  const result = await resultOf(running);
  expect(result).toMatchObject({ modelDigest: plain.modelDigest, stateDigest: plain.stateDigest });
  expect(result.records).toMatchObject({ applied: plain.applied, bad: 0, discarded: 0, lost: 0 });
  expect(cutIn((await store.get('/checkpoints/cut'))?.value).timeline).toBe(0);
  expect(running.err.match(/restarting it/g)).toHaveLength(3);
});
