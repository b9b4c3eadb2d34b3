/** A job in a SQLite store made by hand, and its checkpoints. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { carriedRecord } from '../../src/cluster/job/carried-record.ts';
import { trainedSpecOf } from '../../src/cluster/job/job-model.ts';
import type { JobRecord } from '../../src/cluster/job/job-record.ts';
import { createClock } from '../../src/host/clock.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { saveCluster } from '../checkpoint/cluster-fixture.ts';
import { recordOf } from '../cluster/job/stored-job.ts';
import { put, SILENT } from '../store/support.ts';

export const keys = keysOf('/paddlet/small');
export const PSERVERS = 2;

export interface StoredJob {
  /** Where commands run: the folder of the job is below it, or itself. */
  readonly cwd: string;
  readonly folder: string;
  readonly url: string;
  readonly store: Store;
  readonly record: JobRecord;
}

/** `name`: of the folder of the job in `.paddlet`; without it the working folder is also that of the job. */
export async function storedJob(name?: string): Promise<StoredJob> {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-small-'));
  const folder = name === undefined ? cwd : join(cwd, '.paddlet', name);
  mkdirSync(folder, { recursive: true });
  const url = `sqlite:${join(folder, 'store.db')}`;
  const store = await openStore(url, { clock: createClock(), log: SILENT });
  onTestFinished(async () => {
    await store.close();
    rmSync(cwd, { recursive: true });
  });
  writeFileSync(join(cwd, 'test.libsvm'), '1 1:1 2:0.5\n0 2:1 3:2\n1 3:1\n');
  const text = JSON.stringify({
    name: 'small',
    data: { train: 'test.libsvm', test: 'test.libsvm', format: 'libsvm' },
    model: { type: 'lr' },
    optimizer: { type: 'sgd', learningRate: 0.1 },
    cluster: { pservers: PSERVERS, shards: 8 },
  });
  const job = parseJobFile('job.yaml', text);
  const record = recordOf(job, { dataDir: cwd });
  await put(store, keys.job, JSON.stringify(record));
  await put(store, keys.psDesired, String(PSERVERS));
  await put(store, keys.passesDesired, String(job.training.passes));
  return { cwd, folder, url, store, record };
}

export async function claimByPservers({ store }: Pick<StoredJob, 'store'>): Promise<void> {
  for (let index = 0; index < PSERVERS; index++) await put(store, keys.ps(index), '127.0.0.1:9');
}

/** Its checkpoints have rows for the ids 1 to 3; its pservers are gone. */
export async function endJob({ folder, store, record }: StoredJob): Promise<void> {
  const { training, cluster } = record.job;
  const parameters = trainedSpecOf(record);
  const job = { jobId: record.id, parameters, seed: training.seed, shards: cluster.shards };
  const { generations } = await saveCluster({
    ...{
      storage: createStorage(createDisk()),
      pservers: PSERVERS,
      folder: join(folder, 'checkpoints'),
      job,
      ids: [1n, 2n, 3n],
    },
    meta: { job: carriedRecord(record) },
  });
  await store.txn({
    if: [],
    then: [
      ...generations.map((one, index) => ({ put: keys.checkpoint(index), value: JSON.stringify(one) })),
      { put: keys.result, value: '{}' },
      { deletePrefix: keys.psPrefix },
    ],
  });
}
