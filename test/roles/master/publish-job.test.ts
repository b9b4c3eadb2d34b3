/** What a master puts into the store as `/job`: a value that every role can read, or nothing. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { JOB_RECORD_VERSION, readJobRecord } from '../../../src/cluster/job/job-record.ts';
import { noTraits } from '../../../src/data/oddities.ts';
import type { DataIndex } from '../../../src/data/source.ts';
import type { JobData } from '../../../src/roles/master/dataset.ts';
import { publishJob } from '../../../src/roles/master/publish-job.ts';
import { aJob } from '../../cluster/job/stored-job.ts';
import { aStore, Master } from './tasks/service-rig.ts';

/** Facts of the index, which nothing else of the data is asked for. */
function publish(facts: Partial<DataIndex>) {
  const { clock, data } = aStore();
  const { context: master, fence } = new Master(clock, data);
  const warnings: string[] = [];
  const log = { ...master.host.log, warn: (message: string) => void warnings.push(message) };
  const host = { ...master.host, log, random: { uuid: randomUUID, fraction: () => 0.5 } };
  const context = { ...master, host };
  const empty = { format: 'libsvm', files: [], chunks: [], digest: 'd' };
  const index = { ...empty, records: 1, featureBound: '1', fieldBound: 0, labelBound: 2, traits: noTraits(), ...facts };
  const train = { index, tasks: [[]], taskRecords: Uint32Array.of(1), tasksAtOnce: 1 };
  const published = publishJob({
    context,
    fence,
    job: aJob(),
    dataDir: '/',
    loadData: async (): Promise<JobData> => ({ train, test: undefined }),
    standing: { kind: 'new', resultRevision: 0n },
    stopSignal: new AbortController().signal,
  });
  return { published, warnings, read: () => readJobRecord(context.store, context.keys) };
}

it('has the highest feature bound that there is', async () => {
  const { published, read } = publish({ featureBound: String(2n ** 64n) });
  await published;
  expect(await read()).toMatchObject({ version: JOB_RECORD_VERSION, train: { featureBound: '18446744073709551616' } });
});

it.each([
  ['train.records', { records: 2 ** 53 }],
  ['train.featureBound', { featureBound: '1e20' }],
])('is not written when no role could read its %s', async (field, facts) => {
  const { published, read } = publish(facts);
  await expect(published).rejects.toMatchObject({
    code: 'JobInvalid',
    message: expect.stringContaining(`job: ${field}: `),
  });
  expect(await read()).toBeUndefined();
});

it('is told with warnings of data that can hardly be meant', async () => {
  const traits = { ...noTraits(), withoutFeatures: ['a.weight'], hasZero: true, hasMinusOne: true };
  const { published, warnings } = publish({ traits });
  await published;
  expect(warnings).toEqual([expect.stringContaining('a.weight'), expect.stringContaining('labels 0 and labels -1')]);
});
