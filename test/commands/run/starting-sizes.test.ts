/** A run that resumes a job has the pservers and trainers that the job has now. */
import { beforeEach, expect, it } from 'vitest';
import { startingSizes } from '../../../src/commands/run/starting-sizes.ts';
import type { LoadedJob } from '../../../src/job/load-job.ts';
import { keysOf } from '../../../src/store/keys.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { aStore, TroubledStore } from '../../roles/master/tasks/service-rig.ts';
import { type FakeClock, SILENT } from '../../store/support.ts';

const keys = keysOf('/paddlet/test');
let data: MemoryStoreData;
let clock: FakeClock;
let troubled: TroubledStore;

beforeEach(() => {
  const store = aStore();
  ({ data, clock } = store);
  troubled = new TroubledStore(data);
});

const withTrainers = (trainers: number) => {
  const job = aJob();
  return { ...job, cluster: { ...job.cluster, trainers } };
};
/** A run whose file has so many trainers and 2 pservers; the job was published with 2 trainers. */
const sizes = (trainers: number, presentPservers: number | undefined) => {
  const job = withTrainers(2);
  const present = presentPservers ?? 0;
  const record = { ...recordOf(job), job: { ...job, cluster: { ...job.cluster, pservers: present } } };
  const run = {
    host: { clock, log: SILENT },
    ...{ store: troubled.store, keys, stop: new AbortController().signal },
    loaded: { job: withTrainers(trainers) } as LoadedJob,
  };
  return startingSizes(run, presentPservers === undefined ? undefined : record);
};
const stored = (): unknown => JSON.parse(data.get(keys.trainersDesired)?.value ?? 'null');
const put = (trainers: number, jobFile: number): void =>
  void data.txn({ if: [], then: [{ put: keys.trainersDesired, value: JSON.stringify({ trainers, jobFile }) }] });

it('a new job starts as its file says', async () => {
  put(9, 2);
  expect(await sizes(3, undefined)).toEqual({ pservers: 2, trainers: 3 });
});

it('a job that was resized starts with its present numbers', async () => {
  expect(await sizes(2, 4)).toEqual({ pservers: 4, trainers: 2 });
  expect(stored()).toBeNull();
  put(6, 2);
  expect(await sizes(2, 1)).toEqual({ pservers: 1, trainers: 6 });
});

it.each(['unavailable', 'unknownLanded', 'unknownLost'] as const)(
  'a number of trainers that was changed in the file counts, and is kept; first try %s',
  async (trouble) => {
    put(6, 2);
    troubled.next(trouble);
    const starting = sizes(3, 4);
    await clock.advance(5_000);
    expect(await starting).toEqual({ pservers: 4, trainers: 3 });
    expect(stored()).toEqual({ trainers: 3, jobFile: 3 });
    // A resize since then counts again, with the file as it is.
    put(5, 3);
    expect(await sizes(3, 4)).toEqual({ pservers: 4, trainers: 5 });
  },
);
