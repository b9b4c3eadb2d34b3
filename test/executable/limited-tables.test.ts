/**
 * Tables with admission, eviction and bounds (docs/decisions/0168), with real processes. In sync mode the digests are
 * those of the plain loop. The digest of the state covers `seen` and candidates, so it shows if a shard looked at
 * another update. limited-tables-replayed.test.ts has the faults.
 */
import { expect, test } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { referenceOf } from '../sync/reference-loop.ts';
import { openPlace, type Place, resultOf } from './harness.ts';

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

async function limitedJob(place: Place): Promise<string> {
  const numbers = { records: 3_000, 'test-records': 10, features: 4_000, 'per-record': 8, factors: 0 };
  const flags = Object.entries(numbers).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  await place.json('data', 'synth', '--output', '.', ...flags);
  return place.writeJob(JOB);
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

test('the bits are those of the plain loop; the result and inspect show the same tables', async () => {
  const place = openPlace();
  const result = await resultOf(place.start('run', ['run', await limitedJob(place), '--dir', 'job', '--json']));
  const { limits, ...plain } = await referenceOf(JOB, place.path());
  // Rows were evicted for each reason, ids refused, candidates promoted, gradients dropped.
  expect(Math.min(...Object.values(limits!)), JSON.stringify(limits)).toBeGreaterThan(100);
  expect(digestsIn(result)).toEqual(digestsIn(plain));
  expect(result.records).toMatchObject({ applied: 4 * 3_000, lost: 0, discarded: 0 });
  const { tables } = (await place.json('checkpoint', 'inspect', '--dir', 'job')) as { tables: Inspected[] };
  for (const { name, rows, bytes: ofRows, candidates } of tables) {
    const bytes = ofRows + (candidates?.bytes ?? 0);
    const shown = result.tables!.find((one) => one.name === name)!;
    const boundBytes = JOB.cluster.shards * Math.floor(MAX_BYTES[name] / JOB.cluster.shards);
    expect(shown).toMatchObject({ rows, candidates: candidates?.count ?? 0, bytes, boundBytes });
    expect(shown.evicted.bound.rows).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES[name]);
    expect(bytes).toBeGreaterThan(MAX_BYTES[name] / 2);
  }
});
