/** A job file meets what is in the store: the same job, one with more passes, or another. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Job, RequestedJob } from '../../../src/job/schema.ts';
import { refuseDifferences, standingOf, standingOfMaster } from '../../../src/roles/master/standing.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Op } from '../../../src/store/store.ts';
import { aJob, aResult, finishing, publishing, recordOf } from '../../cluster/job/stored-job.ts';
import { aStore, Master } from './tasks/service-rig.ts';

let data: MemoryStoreData;
let process: Master;
const job = aJob({ passes: 4 });
const withPasses = (passes: number): Job => aJob({ passes });
const changed: Job = { ...job, training: { ...job.training, batchSize: 7 } };
const moreTrainers: Job = { ...job, cluster: { ...job.cluster, trainers: 5 } };
const FAILED = { failed: { code: 'TaskDiscarded', message: 'task 1 failed', by: 'master' } };

const write = (...then: Op[]): void => void data.txn({ if: [], then });
const keys = () => process.context.keys;
const finish = (): void => write(...finishing(keys(), job));
const fail = (): void => write({ put: keys().result, value: JSON.stringify(FAILED) });
const standing = (now: RequestedJob) => standingOf(process.context, now);
const refused = (now: Job) => expect(standing(now)).rejects;

beforeEach(() => {
  const store = aStore();
  data = store.data;
  process = new Master(store.clock, data);
});

it('there is none', async () => {
  expect(await standing(job)).toEqual({ kind: 'new', resultRevision: 0n });
});

describe('an unfinished one', () => {
  beforeEach(() => write(...publishing(keys(), recordOf(job))));

  it.each([job, moreTrainers])('goes on', async (now) => {
    expect(await standing(now)).toMatchObject({ kind: 'unfinished', resultRevision: 0n });
  });

  it('goes on with more passes, from the number that was asked for last', async () => {
    expect(await standing(withPasses(6))).toMatchObject({ kind: 'continued', record: { job } });
    write({ put: keys().passesDesired, value: '6' });
    expect(await standing(withPasses(6))).toMatchObject({ kind: 'unfinished' });
    await refused(job).toMatchObject({ code: 'JobConflict', message: expect.stringContaining('passes: 6 → 4') });
  });

  it('is refused with fewer', async () => {
    await refused(withPasses(3)).toMatchObject({
      code: 'JobConflict',
      message: 'job test was started with different settings:\n  training.passes: 4 → 3',
      hint: expect.stringContaining('the job has 4 passes, and training.passes can only be raised'),
    });
  });

  it('is refused with other settings', async () => {
    await refused(changed).toMatchObject({
      code: 'JobConflict',
      message: 'job test was started with different settings:\n  training.batchSize: 128 → 7',
      hint: expect.stringContaining('if you only raise training.passes, the job continues'),
    });
  });
});

describe('a finished one', () => {
  beforeEach(() => {
    write(...publishing(keys(), recordOf(job)));
    finish();
  });

  it.each([job, moreTrainers])('shows its result', async (now) => {
    expect(await standing(now)).toMatchObject({ kind: 'ended', end: { result: aResult(job) } });
  });

  it('goes on with more passes', async () => {
    const { resultRevision, kind } = await standing(withPasses(5));
    expect(kind).toBe('continued');
    expect(resultRevision).toBeGreaterThan(0n);
  });

  it('is refused with fewer than are done', async () => {
    await refused(withPasses(3)).toMatchObject({
      code: 'JobConflict',
      message: 'job test is finished; it was trained with different settings:\n  training.passes: 4 → 3',
      hint: expect.stringMatching(/^4 passes are done.*--fresh/),
    });
  });

  it.each([changed, { ...changed, training: { ...changed.training, passes: 9 } }])(
    'is refused with other settings, with more passes too',
    async (now) => {
      await refused(now).toMatchObject({ code: 'JobConflict', message: expect.stringContaining('128 → 7') });
    },
  );
});

describe('one that failed', () => {
  beforeEach(() => {
    write(...publishing(keys(), recordOf(job)));
    fail();
  });

  it('says so again', async () => {
    expect(await standing(job)).toMatchObject({ kind: 'ended', end: { failure: { code: 'TaskDiscarded' } } });
  });

  it.each([withPasses(9), changed])('is not continued', async (now) => {
    await refused(now).toMatchObject({
      code: 'JobConflict',
      message: expect.stringContaining('has failed (TaskDiscarded: task 1 failed)'),
      hint: expect.not.stringContaining('continues'),
    });
  });
});

describe('the number of pservers, which `paddlet resize` and `paddlet restore` change,', () => {
  const three = aJob({ pservers: 3 });
  beforeEach(() => {
    write(...publishing(keys(), recordOf(aJob({ pservers: 2 }))));
    write({ put: keys().psDesired, value: '3' });
  });

  it.each([aJob({ pservers: 2 }), three])('may be in the job file as it was at the start, or as it is', async (now) => {
    expect(await standing(now)).toMatchObject({ kind: 'unfinished', record: { job: three } });
    expect(await standing({ ...now, training: { ...now.training, passes: 9 } })).toMatchObject({ kind: 'continued' });
  });

  it('cannot be changed there: the hint says how', async () => {
    await refused(aJob({ pservers: 5 })).toMatchObject({
      code: 'JobConflict',
      message: expect.stringContaining('cluster.pservers: 3 → 5'),
      hint: expect.stringContaining('use `paddlet resize --pservers 5`'),
    });
  });
});

describe('the number of records per task, which paddlet may choose,', () => {
  const withTasks = (recordsPerTask: RequestedJob['data']['recordsPerTask']): RequestedJob => ({
    ...job,
    data: { ...job.data, recordsPerTask },
  });
  // The default before there was a choice, and a number that is chosen.
  const published = [1000, 512];

  it.each(published)('stays what it is if the file says auto: %i', async (recordsPerTask) => {
    write(...publishing(keys(), recordOf(withTasks(recordsPerTask))));
    const record = { job: { data: { recordsPerTask } } };
    expect(await standing(withTasks('auto'))).toMatchObject({ kind: 'unfinished', record });
    expect(await standing(withTasks(recordsPerTask))).toMatchObject({ kind: 'unfinished', record });
    expect(await standingOfMaster(process.context, withTasks('auto'))).toMatchObject({ kind: 'unfinished', record });
    const more = { ...withTasks('auto'), training: { ...job.training, passes: 9 } };
    expect(await standing(more)).toMatchObject({ kind: 'continued', record });
    refuseDifferences(withPublished(recordsPerTask), withTasks('auto'));
    finish();
    expect(await standing(withTasks('auto'))).toMatchObject({ kind: 'ended', record });
  });

  it.each(published)('cannot be changed: %i', async (recordsPerTask) => {
    write(...publishing(keys(), recordOf(withTasks(recordsPerTask))));
    const message = `job test was started with different settings:\n  data.recordsPerTask: ${recordsPerTask} → 250`;
    await expect(standing(withTasks(250))).rejects.toMatchObject({ code: 'JobConflict', message });
    expect(() => refuseDifferences(withPublished(recordsPerTask), withTasks(250))).toThrow(message);
  });

  it('does not make up for other settings', async () => {
    write(...publishing(keys(), recordOf(job)));
    const other = { ...withTasks('auto'), training: changed.training };
    const message = 'job test was started with different settings:\n  training.batchSize: 128 → 7';
    await expect(standing(other)).rejects.toMatchObject({ code: 'JobConflict', message });
  });

  const withPublished = (recordsPerTask: number): Job => ({ ...job, data: { ...job.data, recordsPerTask } });
});

describe('another number of pservers than the job has now', () => {
  beforeEach(() => write(...publishing(keys(), recordOf(aJob({ pservers: 3 })))));

  it('is nothing to a master, which may have been started before the number changed', async () => {
    const found = await standingOfMaster(process.context, aJob({ pservers: 2 }));
    expect(found).toMatchObject({ kind: 'unfinished', record: { job: { cluster: { pservers: 3 } } } });
  });

  it('does not make up for other settings', async () => {
    await expect(standingOfMaster(process.context, changed)).rejects.toMatchObject({ code: 'JobConflict' });
  });
});
