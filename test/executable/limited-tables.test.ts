/**
 * Tables with admission, eviction and bounds (docs/decisions/0168), with real processes. In sync mode the digests are
 * the same, whatever the cluster is, and whatever dies. The digest of the state covers `seen` and candidates. So it
 * shows if a shard looked at another update.
 */
import { expect, test } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { liveOne, startRun } from './run.ts';
import { cutOf, SLOWLY } from './sync-job.ts';

const JOB = {
  name: 'limited',
  data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: 500 },
  model: { type: 'fm', factors: 4 },
  tables: {
    w: { eviction: { unseenPasses: 1 }, maxBytes: '100kB' },
    v: { admission: { type: 'count', min: 2 }, eviction: { unseenUpdates: 40 }, maxBytes: '100kB' },
  },
  training: { mode: 'sync', lanes: 4, passes: 4, batchSize: 50 },
  cluster: { pservers: 1, trainers: 1, shards: 8, leaseTtl: '2s' },
  checkpoint: { interval: '200ms' },
};

async function limitedJob(place: Place, cluster: object = {}): Promise<string> {
  const numbers = { records: 6_000, 'test-records': 10, features: 30_000, 'per-record': 12, factors: 0 };
  const flags = Object.entries(numbers).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  await place.json('data', 'synth', '--output', '.', ...flags);
  return place.writeJob({ ...JOB, cluster: { ...JOB.cluster, ...cluster } });
}

interface Sized {
  readonly bytes: number;
}

const digestsIn = ({ modelDigest, stateDigest }: JobResult): object => ({ modelDigest, stateDigest });

test('one pserver, or two with copies of which each is killed once: the model and its state are the same', async () => {
  const alone = openPlace();
  const plain = await resultOf(alone.start('run', ['run', await limitedJob(alone), '--dir', 'job', '--json']));
  const place = openPlace();
  const job = await limitedJob(place, { pservers: 2, trainers: 2, replicas: 2 });
  const { running, store } = await startRun(place, job, SLOWLY, JOB.name);
  for (let kill = 0; kill < 2; kill++) {
    await cutOf(store, (await cutOf(store, 1)) + 1);
    process.kill((await liveOne(place, 'pserver')).pid, 'SIGKILL');
    await running.said(/pserver.* ended \(SIGKILL\)/);
  }
  const result = await resultOf(running);
  expect(digestsIn(result)).toEqual(digestsIn(plain));
  expect(result.records).toMatchObject({ applied: 4 * 6_000, lost: 0, discarded: 0 });
  const { tables } = (await place.json('checkpoint', 'inspect', '--dir', 'job')) as { tables: Sized[] };
  for (const { bytes } of tables) {
    expect(bytes).toBeLessThanOrEqual(100_000);
    // There was more than fits.
    expect(bytes).toBeGreaterThan(50_000);
  }
});
