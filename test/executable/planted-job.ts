/**
 * The job that most tests run: logistic regression on made data with a planted linear model, so it is known how good
 * the result can be. Its optimizer is Adam, whose update counts in the checkpoints are a second account of what was
 * applied, independent of the ledgers: a push lost or applied twice shows in them.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openCheckpoint } from '../../src/checkpoint/file/reader.ts';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import type { Place } from './harness.ts';

const RECORDS = 16_000;
const RECORDS_PER_TASK = 200;
const BATCH = 100;
export const PASSES = 12;
export const TASKS_PER_PASS = RECORDS / RECORDS_PER_TASK;
export const TASKS = PASSES * TASKS_PER_PASS;
export const PUSHES_PER_TASK = RECORDS_PER_TASK / BATCH;
export const LEASE_MS = 2_000;

export const JOB = {
  name: 'planted',
  data: { train: 'train.libsvm', test: 'test.libsvm', format: 'libsvm', recordsPerTask: RECORDS_PER_TASK },
  model: { type: 'lr' },
  optimizer: { type: 'adam', learningRate: 0.003 },
  training: { passes: PASSES, batchSize: BATCH },
  cluster: { pservers: 2, trainers: 2, shards: 32, leaseTtl: `${LEASE_MS}ms` },
};

/**
 * Where no lease is to run out by being slow: a process that the machine holds up for some seconds still renews it. A
 * role that has lost its lease ends, and one that was started by hand is not started again.
 */
export const UNHURRIED_JOB = { ...JOB, cluster: { ...JOB.cluster, leaseTtl: '15s' } };

/** A quarter as long, with larger steps and as good: for what is held against each commit. */
export const SHORT_PASSES = 3;
export const SHORT_TASKS = SHORT_PASSES * TASKS_PER_PASS;
export const SHORT_TRAINING = {
  optimizer: { ...JOB.optimizer, learningRate: 0.01 },
  training: { ...JOB.training, passes: SHORT_PASSES },
};
export const SHORT_JOB = { ...UNHURRIED_JOB, ...SHORT_TRAINING };

/** Where one lease is to run out while the others are kept, and no role is started again. */
export const PATIENT_LEASE_MS = 5_000;
export const PATIENT_JOB = { ...JOB, cluster: { ...JOB.cluster, leaseTtl: `${PATIENT_LEASE_MS}ms` } };

/** Makes the data in the place's folder, and the job file; its path. */
export async function plantedJob(place: Place, job: object = UNHURRIED_JOB): Promise<string> {
  const numbers = { records: RECORDS, 'test-records': 5_000, features: 60, 'per-record': 8, factors: 0 };
  const flags = Object.entries(numbers).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  await place.json('data', 'synth', '--output', '.', ...flags);
  return place.writeJob(job);
}

/** Each record counted once, in the ledgers and in the parameters; and the model as good as it can be. */
export async function expectWhole(
  place: Place,
  result: JobResult,
  checkpoints: string,
  passes = PASSES,
): Promise<void> {
  const records = passes * RECORDS;
  const tasks = passes * TASKS_PER_PASS;
  expect(result.tasks).toEqual({ total: tasks, done: tasks, discarded: 0 });
  expect(result.records).toMatchObject({ applied: records, bad: 0, discarded: 0, lost: 0 });
  const planted = JSON.parse(readFileSync(place.path('planted.json'), 'utf8')) as { test: { auc: number } };
  expect(result.metrics.test?.auc).toBeGreaterThan(planted.test.auc - 0.01);
  expect(await updatesIn(checkpoints, result)).toEqual(expectedUpdates(place, passes));
}

interface Updates {
  readonly bias: number;
  /** Feature to updates of its weight. */
  readonly weights: ReadonlyMap<bigint, number>;
}

/** Batches are cut by position within a task: a feature's weight is updated once for each batch that has it. */
function expectedUpdates(place: Place, passes: number): Updates {
  const lines = readFileSync(place.path('train.libsvm'), 'utf8').trimEnd().split('\n');
  const weights = new Map<bigint, number>();
  for (let first = 0; first < lines.length; first += BATCH) {
    const features = lines.slice(first, first + BATCH).flatMap((line) => [...line.matchAll(/ (\d+):/g)]);
    for (const id of new Set(features.map(([, number]) => BigInt(number!)))) {
      weights.set(id, (weights.get(id) ?? 0) + passes);
    }
  }
  return { bias: (passes * RECORDS) / BATCH, weights };
}

/** Of the final checkpoints, whose digests must be those of the result. */
async function updatesIn(folder: string, result: JobResult): Promise<Updates> {
  let bias = 0;
  const weights = new Map<bigint, number>();
  for (const { index, uuid, md5 } of result.checkpoints) {
    const path = join(folder, String(index), uuid);
    expect(createHash('md5').update(readFileSync(path)).digest('hex')).toBe(md5);
    const reader = await openCheckpoint(createStorage(createDisk()), path);
    try {
      for (const { shard } of reader.positions) {
        for await (const { step } of reader.blocksOf(shard)) bias += step ?? Number.NaN;
        for await (const { ids, steps } of reader.rowsOf(shard, 0)) {
          ids.forEach((id, i) => {
            weights.set(id, steps![i]!);
          });
        }
      }
    } finally {
      await reader.close();
    }
  }
  return { bias, weights };
}
