/** A cluster by hand on a real etcd: the keys of the store, in mid-run and at the end. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { whyNoEtcd } from '../etcd-server.ts';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { startEtcd } from './etcd.ts';
import { endWell, openPlace, resultOf } from './harness.ts';
import type { Entries } from './job-store.ts';
import { expectWhole, JOB, plantedJob, SHORT_JOB, SHORT_PASSES, SHORT_TASKS } from './planted-job.ts';
import { expectMidRun, SHORT_SLOWLY } from './run.ts';

const reason = whyNoEtcd();
const SHARDS = JOB.cluster.shards;
const ADDRESS = /^127\.0\.0\.1:\d+$/;
/** Seconds since 1970 with a fraction, as the seeds' keys have them. */
const now = z.number().min(1.7e9).max(1e10);

const schemas = {
  job: z.object({ id: z.uuid() }),
  trainer: z.strictObject({ address: z.string().regex(ADDRESS), job: z.uuid() }),
  pserver: z.strictObject({
    id: z.int(),
    instance: z.string().regex(/127\.0\.0\.1:\d+$/),
    status: z.enum(['up', 'loading', 'draining', 'down']),
    start_time: now,
    sync: z.boolean(),
    units: z.array(z.strictObject({ unit: z.int(), bytes: z.int() })),
  }),
  cluster: z.strictObject({
    cluster_status: z.enum(['OK', 'UNHEALTHY', 'UNKNOWN']),
    reason: z.string(),
    nodes: z.array(z.int()),
  }),
  shard: z.object({ id: z.literal(0), shardid: z.int(), created: now, modified: now, status: z.literal('master') }),
  checkpoint: z.object({ uuid: z.uuid(), md5: z.string().regex(/^[0-9a-f]{32}$/), timestamp: now }),
};

const under = (entries: Entries, prefix: string): string[] =>
  [...entries.keys()].filter((key) => key.startsWith(prefix));
const leased = (entries: Entries): string[] =>
  [...entries].filter(([, { leaseId }]) => leaseId !== 0n).map(([key]) => key);

function json(entries: Entries, key: string): unknown {
  const entry = entries.get(key);
  if (entry === undefined) throw new Error(`no key ${key} among ${[...entries.keys()].join(' ')}`);
  return JSON.parse(entry.value);
}

/** Also the slower of the trainers, and the pservers have said so: work goes on before they have. */
function areAllThere(entries: Entries): boolean {
  const isUp = (index: number): boolean => entries.get(`/pservers/${index}`)?.value.includes('"status":"up"') ?? false;
  const isOk = entries.get('/pserver_cluster_status')?.value.includes('"OK"') ?? false;
  return isOk && isUp(0) && isUp(1) && under(entries, '/trainer/').length === 2;
}

function expectLivingKeys(entries: Entries): void {
  expect(json(entries, '/job')).toMatchObject({ id: expect.any(String), job: { name: JOB.name } });
  expect(json(entries, '/ps_desired')).toBe(2);
  for (const index of [0, 1]) {
    expect(entries.get(`/ps/${index}`)?.value).toMatch(ADDRESS);
    const { id, status, sync } = schemas.pserver.parse(json(entries, `/pservers/${index}`));
    expect({ id, status, sync }).toEqual({ id: index, status: 'up', sync: true });
  }
  expect(schemas.cluster.parse(json(entries, '/pserver_cluster_status'))).toEqual({
    cluster_status: 'OK',
    reason: '',
    nodes: [0, 1],
  });
  expect(under(entries, '/pshards/')).toHaveLength(SHARDS);
  for (let shard = 0; shard < SHARDS; shard++) {
    expect(schemas.shard.parse(json(entries, `/pshards/${shard}/0`)).shardid).toBe(shard);
  }
  expect(entries.get('/master/addr')?.value).toMatch(ADDRESS);
  const trainers = under(entries, '/trainer/');
  expect(trainers).toHaveLength(2);
  for (const key of trainers) {
    expect(z.uuid().safeParse(key.slice('/trainer/'.length)).success).toBe(true);
    expect(schemas.trainer.parse(json(entries, key)).job).toBe(schemas.job.parse(json(entries, '/job')).id);
  }
  // What belongs to a process hangs on its lease, and nothing else does: /ps_desired outlives who wrote it.
  const masters = ['/master/addr', '/master/lock', '/master/secret'];
  expect(leased(entries).sort()).toEqual([...masters, '/ps/0', '/ps/1', ...trainers].sort());
}

describe.skipIf(reason !== undefined)(`a cluster by hand on etcd${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('in any start order: readable keys in the store, and every role ends with 0', async () => {
    const place = openPlace();
    const etcd = await startEtcd();
    const job = await plantedJob(place, SHORT_JOB);
    const { store, master, pservers, trainers } = await startByHand(place, job, etcd.url, SHORT_SLOWLY);
    await store.until((entries) => entries.has('/tasks/passes/0') && areAllThere(entries), master);
    const living = await store.entries();
    await expectMidRun(store, SHORT_TASKS);
    expectLivingKeys(living);

    const result = await resultOf(master);
    await endWell([...pservers, ...trainers]);
    await expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'), SHORT_PASSES);

    // One that could not be ended in time runs out.
    await store.until((entries) => leased(entries).length === 0);
    const left = await store.entries();
    expect(json(left, '/ps_desired')).toBe(2);
    expect(json(left, '/result')).toEqual(JSON.parse(JSON.stringify(result)));
    for (const { index, uuid, md5 } of result.checkpoints) {
      const entry = schemas.checkpoint.parse(json(left, `/checkpoints/${index}`));
      expect(entry).toMatchObject({ uuid, md5 });
    }
    expect(under(left, '/checkpoints/')).toHaveLength(2);
  });
});
