/** Commands that ask the pservers of a job that ends at that moment, on a store made by hand. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { trainedSpecOf } from '../../src/cluster/job/job-model.ts';
import { createClock } from '../../src/host/clock.ts';
import { createDisk } from '../../src/host/disk.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { saveCluster } from '../checkpoint/cluster-fixture.ts';
import { recordOf } from '../cluster/job/stored-job.ts';
import { put, SILENT } from '../store/support.ts';
import { runCommand } from './run-command.ts';

const keys = keysOf('/paddlet/small');
const PSERVERS = 2;

async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-evaluate-'));
  const url = `sqlite:${join(folder, 'store.db')}`;
  const store = await openStore(url, { clock: createClock(), log: SILENT });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, 'test.libsvm'), '1 1:1 2:0.5\n0 2:1 3:2\n1 3:1\n');
  const text = JSON.stringify({
    name: 'small',
    data: { train: 'test.libsvm', test: 'test.libsvm', format: 'libsvm' },
    model: { type: 'lr' },
    optimizer: { type: 'sgd', learningRate: 0.1 },
    cluster: { pservers: PSERVERS, shards: 8 },
  });
  const job = parseJobFile('job.yaml', text);
  const record = recordOf(job, { dataDir: folder });
  await put(store, keys.job, JSON.stringify(record));
  await put(store, keys.psDesired, String(PSERVERS));
  await put(store, keys.passesDesired, String(job.training.passes));
  return { folder, url, store, record };
}

/** `waits` resolves when it waits for pservers to take their shards. */
function start(folder: string, url: string, ...words: string[]) {
  const waits = Promise.withResolvers<void>();
  const onErr = (err: string): void => {
    if (err.includes('waiting for pservers')) waits.resolve();
  };
  const ended = runCommand([...words, '--store', url, '--dir', folder, '--json'], { cwd: folder, onErr });
  return { ended, waits: Promise.race([waits.promise, ended]) };
}

test('evaluate: the checkpoints of a job that ended are scored', async () => {
  const { folder, url, store, record } = await setUp();
  for (let index = 0; index < PSERVERS; index++) await put(store, keys.ps(index), '127.0.0.1:9');
  const { ended, waits } = start(folder, url, 'evaluate');
  await waits;
  const { training, cluster } = record.job;
  const parameters = trainedSpecOf(record);
  const job = { jobId: record.id, parameters, seed: training.seed, shards: cluster.shards };
  const { generations } = await saveCluster({
    ...{ disk: createDisk(), pservers: PSERVERS, folder: join(folder, 'checkpoints'), job, ids: [1n, 2n, 3n] },
  });
  await store.txn({
    if: [],
    then: [
      ...generations.map((one, index) => ({ put: keys.checkpoint(index), value: JSON.stringify(one) })),
      { put: keys.result, value: '{}' },
      { deletePrefix: keys.psPrefix },
    ],
  });
  const { code, out, err } = await ended;
  expect(err).toContain('the job ended in the meantime');
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ model: 'checkpoints', records: 3 })]);
});

test.each([
  [['evaluate'], 7, 'CheckpointMissing'],
  [['checkpoint', 'save'], 2, 'JobUnknown'],
])('%j of a job that ended without checkpoints: says so', async (words, code, error) => {
  const { folder, url, store } = await setUp();
  for (let index = 0; index < PSERVERS; index++) await put(store, keys.ps(index), '127.0.0.1:9');
  const { ended, waits } = start(folder, url, ...words);
  await waits;
  await store.txn({ if: [], then: [{ put: keys.result, value: '{}' }, { deletePrefix: keys.psPrefix }] });
  const ran = await ended;
  expect([ran.code, JSON.parse(ran.out)]).toEqual([code, { error: expect.objectContaining({ code: error }) }]);
});
