/** What a job with a warm start takes over beside parameters, and what it refuses by the job that these are of. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ExpectedJob } from '../../../src/checkpoint/load/load.ts';
import { carriedRecord } from '../../../src/cluster/job/carried-record.ts';
import { trainedSpecOf } from '../../../src/cluster/job/job-model.ts';
import { type JobRecord, readJobRecord } from '../../../src/cluster/job/job-record.ts';
import { noTraits } from '../../../src/data/oddities.ts';
import type { Job } from '../../../src/job/schema.ts';
import { publishJob } from '../../../src/roles/master/publish-job.ts';
import { saveCluster } from '../../checkpoint/cluster-fixture.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { createSimulatedDisk } from '../../simulated-disk.ts';
import { aStore, Master } from './tasks/service-rig.ts';

const columns = { y: 'label', price: 'number', age: { type: 'number', quantiles: 3 } };
const other = aJob({ data: { train: 'old.csv', format: 'csv', columns } });
const facts = (mean: number, bounds: number[]) => [
  { name: 'price', present: 3, missing: 0, mean, deviation: 1, min: 0, max: 9 },
  { name: 'age', present: 3, missing: 0, mean, deviation: 1, min: 0, max: 9, bounds },
];
const before = recordOf(other, { train: { columns: { fields: 3, statistics: facts(5, [4, 6]) } } });
const expected = (record: JobRecord): ExpectedJob => ({
  ...{ jobId: record.id, seed: other.training.seed, shards: other.cluster.shards },
  parameters: trainedSpecOf(record),
});
const withModel = (model: Job['model']): JobRecord => recordOf({ ...other, model }, { train: before.train });

/** The record of a job that starts from files of `there` with this record, and the warnings of its master. */
async function published(
  carried: string | undefined,
  { there, model }: { there: JobRecord; model: Job['model'] } = { there: before, model: other.model },
): Promise<{ record: JobRecord; warnings: string[] }> {
  const disk = createSimulatedDisk();
  await saveCluster({
    storage: disk.storage,
    pservers: 2,
    job: expected(there),
    folder: '/old',
    meta: carried === undefined ? {} : { job: carried },
  });
  const { clock, data } = aStore();
  const { context: master, fence } = new Master(clock, data);
  const warnings: string[] = [];
  const log = { ...master.host.log, warn: (message: string) => void warnings.push(message) };
  const host = { ...master.host, disk, storage: disk.storage, log, random: { uuid: randomUUID, fraction: () => 0.5 } };
  const context = { ...master, host };
  const warmStart = { from: '/old', vars: ['*'], optimizerState: true, missing: 'fail' } as const;
  const job: Job = { ...other, model, data: { ...other.data, train: ['new.csv'] }, warmStart };
  const layout = { fields: 3, positions: [0, 1, 2] };
  const index = {
    ...{ format: 'csv', files: [{ path: 'new.csv', bytes: 1, records: 3, layout }], chunks: [], digest: 'd' },
    ...{
      records: 3,
      featureBound: '1',
      fieldBound: 3,
      labelBound: 2,
      traits: noTraits(),
      statistics: facts(50, [40, 60]),
    },
  };
  const train = { index, tasks: [[]], taskRecords: Uint32Array.of(3), tasksAtOnce: 1 };
  await publishJob({
    ...{ context, fence, dataDir: '/', standing: { kind: 'new', resultRevision: 0n } },
    loadData: async () => ({ job, data: { train, test: undefined } }),
    stopSignal: new AbortController().signal,
  });
  return { record: (await readJobRecord(context.store, context.keys))!, warnings };
}

it('has the statistics of the job that it starts from, and the index of its own data', async () => {
  const { record, warnings } = await published(carriedRecord(before));
  expect(record.train).toMatchObject({ digest: 'd', records: 3, columns: { fields: 3, statistics: facts(5, [4, 6]) } });
  expect(record.warmStart).toMatchObject({ jobId: before.id, initialized: [] });
  expect(warnings).toEqual([]);
});

it('has its own, and says so, where the files have no record that it can read', async () => {
  const without = await published(undefined);
  expect(without.record.train.columns?.statistics).toEqual(facts(50, [40, 60]));
  expect(without.warnings).toEqual([expect.stringContaining('/old: does not contain the record of its job')]);
  const { record } = await published(JSON.stringify({ ...before, version: before.version + 1 }));
  expect(record.train.columns?.statistics).toEqual(facts(50, [40, 60]));
});

it('takes over no vectors that another model has, though they are as wide', async () => {
  const ffm = { type: 'ffm', factors: 4, task: 'binary', initScale: 1, normalize: true } as const;
  const fm = { type: 'fm', factors: 12, task: 'binary', initStddev: 0.01 } as const;
  const there = withModel(fm);
  await expect(published(carriedRecord(there), { there, model: ffm })).rejects.toMatchObject({
    code: 'JobInvalid',
    message: 'warmStart: v in /old belongs to fm with 12 factors, but the model of this job is ffm with 4 factors',
  });
  const { record } = await published(carriedRecord(there), { there, model: fm });
  expect(record.warmStart?.loaded.map(({ name }) => name)).toContain('v');
});
