/**
 * Tables with admission, eviction and bounds (docs/decisions/0168), with real processes. In sync mode the digests are
 * those of the plain loop, whatever the cluster is, and whatever dies. The digest of the state covers `seen` and
 * candidates. So it shows if a shard looked at another update.
 */
import { expect, test } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { referenceOf } from '../sync/reference-loop.ts';
import { isOk } from './copied-job.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { eventually, type LiveProcess, liveProcesses, oneOf, startRun } from './run.ts';
import { cutOf } from './sync-job.ts';

/** A shard has at least 64 rows: a round names more of `w` than that. */
const MAX_BYTES = { w: 10_300, v: 120_000 };

const JOB = {
  name: 'limited',
  data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: 250 },
  model: { type: 'fm', factors: 4 },
  tables: {
    w: { eviction: { unseenPasses: 1 }, maxBytes: MAX_BYTES.w },
    v: { admission: { type: 'count', min: 2 }, eviction: { unseenUpdates: 8 }, maxBytes: MAX_BYTES.v },
  },
  training: { mode: 'sync', lanes: 4, passes: 4, batchSize: 25 },
  cluster: { pservers: 1, trainers: 1, shards: 8, leaseTtl: '2s' },
  checkpoint: { interval: '200ms' },
};

/** The job lasts until both pservers have died. */
const SLOWLY = 'round.applied:delay=60';

async function limitedJob(place: Place, cluster: object = {}): Promise<string> {
  const numbers = { records: 3_000, 'test-records': 10, features: 4_000, 'per-record': 8, factors: 0 };
  const flags = Object.entries(numbers).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  await place.json('data', 'synth', '--output', '.', ...flags);
  return place.writeJob({ ...JOB, cluster: { ...JOB.cluster, ...cluster } });
}

interface Inspected {
  readonly name: keyof typeof MAX_BYTES;
  readonly rows: number;
  readonly bytes: number;
  readonly candidates?: { readonly count: number; readonly bytes: number };
}

const digestsIn = ({ modelDigest, stateDigest }: Pick<JobResult, 'modelDigest' | 'stateDigest'>): object => ({
  modelDigest,
  stateDigest,
});

async function killPserver(place: Place, index: number): Promise<void> {
  const wanted = ({ role, index: found }: LiveProcess): boolean => role === 'pserver' && found === index;
  const { pid } = await eventually(async () => oneOf((await liveProcesses(place, 1)).filter(wanted), 'pserver'));
  process.kill(pid, 'SIGKILL');
}

test('one pserver, or two with copies of which each is killed once: the bits of the plain loop', async () => {
  const alone = openPlace();
  const quiet = await resultOf(alone.start('run', ['run', await limitedJob(alone), '--dir', 'job', '--json']));
  const { limits, ...plain } = await referenceOf(JOB, alone.path());
  // Rows were evicted for each reason, ids refused, candidates promoted, gradients dropped.
  expect(Math.min(...Object.values(limits!)), JSON.stringify(limits)).toBeGreaterThan(100);
  expect(digestsIn(quiet)).toEqual(digestsIn(plain));
  const place = openPlace();
  const job = await limitedJob(place, { pservers: 2, trainers: 2, replicas: 2 });
  const { running, store } = await startRun(place, job, SLOWLY, JOB.name);
  await store.until(isOk, running);
  await killPserver(place, 0);
  await running.said(/pserver 0 ended \(SIGKILL\)/);
  // The other pserver leads all units now, and needs no cut.
  await cutOf(store, (await cutOf(store, 1)) + 1);
  expect(running.err).not.toMatch(/going back/);
  await killPserver(place, 1);
  await running.said(/pserver 1 ended \(SIGKILL\)/);
  const result = await resultOf(running);
  expect(digestsIn(result)).toEqual(digestsIn(plain));
  expect(result.records).toMatchObject({ applied: 4 * 3_000, lost: 0, discarded: 0 });
  const { tables } = (await place.json('checkpoint', 'inspect', '--dir', 'job')) as { tables: Inspected[] };
  for (const { name, rows, bytes: ofRows, candidates } of tables) {
    const bytes = ofRows + (candidates?.bytes ?? 0);
    const shown = { rows, candidates: candidates?.count ?? 0, bytes, boundBytes: 8 * Math.floor(MAX_BYTES[name] / 8) };
    for (const { tables: shownOf } of [result, quiet]) {
      expect(shownOf!.find((one) => one.name === name)).toMatchObject(shown);
    }
    // Those of the killed processes are not counted, so the quiet run counts.
    expect(quiet.tables!.find((one) => one.name === name)!.evicted.bound.rows).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES[name]);
    expect(bytes).toBeGreaterThan(MAX_BYTES[name] / 2);
  }
});
