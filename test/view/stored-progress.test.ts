/** How far a job is, from what its last master and its pservers saved. */
import { expect, test } from 'vitest';
import type { JobRecord } from '../../src/cluster/job/job-record.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { keysOf } from '../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import { readStoredProgress } from '../../src/view/stored-progress.ts';
import { recordOf } from '../cluster/job/stored-job.ts';
import { sumsOf } from '../core/tasks/queue-rig.ts';
import { FakeClock } from '../store/support.ts';

const keys = keysOf('/paddlet/small');

function aRecord(mode: 'async' | 'sync'): JobRecord {
  const text = `name: small\ndata: {format: libsvm, train: a, recordsPerTask: 100}\nmodel: {type: lr}
training: {mode: ${mode}, passes: 4, batchSize: 10, lanes: 2}\ncluster: {pservers: 2}\n`;
  return recordOf(parseJobFile('small.yaml', text), { train: { records: 1_000, tasks: 10 } });
}

function aStore(values: Record<string, unknown>): MemoryStore {
  const data = new MemoryStoreData({ clock: new FakeClock() });
  for (const [key, value] of Object.entries(values))
    data.txn({ if: [], then: [{ put: key, value: JSON.stringify(value) }] });
  return new MemoryStore(data);
}

test('async mode: the passes that ended, and the tasks that are done in the current one', async () => {
  const store = aStore({
    [keys.tasksState]: { phase: 'train', pass: 1 },
    [keys.passTotals(0)]: { tasks: 10, done: 9, discarded: 1, sums: sumsOf(900) },
    [keys.taskBlock(1, 0)]: { done: '0300', open: {}, sums: sumsOf(200) },
    [keys.discardedTask(9)]: { task: 9, pass: 0, records: 100, trainer: 't', code: 'X', error: 'e', where: 'w' },
  });
  expect(await readStoredProgress(store, keys, { record: aRecord('async'), checkpoints: [] })).toEqual({
    mode: 'async',
    pass: 1,
    tasks: { total: 40, done: 11, discarded: 2 },
    records: { read: 1_100, bad: 0, duplicate: 0 },
  });
});

test('async mode: nothing is known before a master published the job', async () => {
  expect(await readStoredProgress(aStore({}), keys, { record: aRecord('async'), checkpoints: [] })).toBeUndefined();
});

test('sync mode: the round that all newest files are of', async () => {
  const file = (index: number, round: number) => ({ index, uuid: 'u', md5: 'm', bytes: 1, timestamp: 0, round });
  const of = (checkpoints: ReturnType<typeof file>[]) =>
    readStoredProgress(aStore({}), keys, { record: aRecord('sync'), checkpoints });
  expect(await of([file(0, 75), file(1, 75)])).toEqual({
    mode: 'sync',
    pass: 1,
    round: 75,
    total: 200,
    records: 1_500,
  });
  expect(await of([file(0, 75)])).toMatchObject({ round: 0, records: 0 });
  expect(await of([file(0, 200), file(1, 200)])).toMatchObject({ pass: 4, records: 4_000 });
});
