/** `paddlet resize` writes numbers that the job may have, once, and never over those of a later resize. */
import { beforeEach, describe, expect, it, test } from 'vitest';
import type { SizesAsked } from '../../../src/commands/base/size-bounds.ts';
import { requestSizes } from '../../../src/commands/resize/request-sizes.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import { keysOf } from '../../../src/store/keys.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aResult, asPublished, publishing, recordOf } from '../../cluster/job/stored-job.ts';
import { aStore, settled, stateOf, TroubledStore } from '../../roles/master/tasks/service-rig.ts';
import type { FakeClock } from '../../store/support.ts';

const keys = keysOf('/paddlet/test');
const jobWith = (cluster: object) =>
  asPublished(
    parseJobFile(
      'job.yaml',
      JSON.stringify({
        name: 'test',
        data: { train: 'train.libsvm', format: 'libsvm' },
        model: { type: 'lr' },
        cluster: { pservers: 2, trainers: 3, shards: 8, ...cluster },
      }),
    ),
  );
const job = jobWith({ minPservers: 2, maxPservers: 4, minTrainers: 2, maxTrainers: 5 });

let data: MemoryStoreData;
let clock: FakeClock;
let troubled: TroubledStore;

beforeEach(() => {
  const store = aStore();
  ({ data, clock } = store);
  troubled = new TroubledStore(data);
  data.txn({ if: [], then: publishing(keys, recordOf(job)) });
});

const put = (key: string, value: string): void => void data.txn({ if: [], then: [{ put: key, value }] });
const request = (asked: Partial<SizesAsked>, record = recordOf(job)) => {
  const requesting = requestSizes(
    {
      host: { clock },
      ...{ store: troubled.store, keys, record, limitMs: 60_000 },
      signal: new AbortController().signal,
      retryStore: (call) => call(),
    },
    { pservers: undefined, trainers: undefined, ...asked },
  );
  requesting.catch(() => {});
  return requesting;
};
const pservers = (): string | undefined => data.get(keys.psDesired)?.value;
const trainers = (): unknown => JSON.parse(data.get(keys.trainersDesired)?.value ?? 'null');
const writes = (): number => troubled.writes.length;

it('changes what was asked for, and nothing else', async () => {
  expect(await request({ pservers: 4 })).toEqual({ pservers: 2, trainers: 3 });
  expect([pservers(), trainers()]).toEqual(['4', null]);
  expect(await request({ trainers: 5 })).toMatchObject({ pservers: 4, trainers: 3 });
  expect([pservers(), trainers()]).toEqual(['4', { trainers: 5, jobFile: 3 }]);
  expect(await request({ pservers: 3, trainers: 2 })).toMatchObject({ pservers: 4, trainers: 5 });
  expect([pservers(), trainers(), writes()]).toEqual(['3', { trainers: 2, jobFile: 3 }, 3]);
});

it('writes nothing when the job has these numbers already', async () => {
  await request({ pservers: 2, trainers: 3 });
  expect(writes()).toBe(0);
});

it('keeps the number of the job file that a run has written', async () => {
  put(keys.trainersDesired, JSON.stringify({ trainers: 4, jobFile: 4 }));
  await request({ trainers: 2 });
  expect(trainers()).toEqual({ trainers: 2, jobFile: 4 });
});

describe('numbers outside the bounds of the job are refused', () => {
  test.each([
    [{ pservers: 5 }, '--pservers 5: cluster.maxPservers of the job is 4', 'choose 2 to 4'],
    [{ pservers: 1 }, '--pservers 1: cluster.minPservers of the job is 2', 'choose 2 to 4'],
    [{ trainers: 6 }, '--trainers 6: cluster.maxTrainers of the job is 5', 'choose 2 to 5'],
    [{ pservers: 3, trainers: 1 }, '--trainers 1: cluster.minTrainers of the job is 2', 'choose 2 to 5'],
  ])('%j', async (asked, message, hint) => {
    await expect(request(asked)).rejects.toMatchObject({ code: 'Usage', message, hint: expect.stringContaining(hint) });
    expect(writes()).toBe(0);
  });

  test.each([
    ['a quarter of the units', { shards: 40 }, 10],
    ['a quarter of the units, rounded down', { shards: 64, units: 23 }, 5],
    ['those of the start, if there are no units for more', { pservers: 6 }, 6],
  ])('if the job names no other number, the most pservers are %s', async (_, cluster, most) => {
    const record = recordOf(jobWith(cluster));
    data.txn({ if: [], then: [{ put: keys.job, value: JSON.stringify(record) }] });
    await request({ pservers: 1 }, record);
    await request({ pservers: most }, record);
    expect(pservers()).toBe(String(most));
    await expect(request({ pservers: most + 1 }, record)).rejects.toMatchObject({
      message: `--pservers ${most + 1}: cluster.maxPservers of the job is ${most}`,
      hint: expect.stringMatching(/to change cluster.maxPservers, start the job over .*--fresh/),
    });
  });
});

it.each(['unavailable', 'unknownLanded', 'unknownLost'] as const)(
  'is repeated when its first try was %s',
  async (trouble) => {
    troubled.next(trouble);
    const requesting = request({ pservers: 4 });
    await clock.advance(5_000);
    expect(await requesting).toMatchObject({ pservers: 2 });
    expect(pservers()).toBe('4');
  },
);

it('follows another resize that came before its first try', async () => {
  troubled.hold();
  const requesting = request({ pservers: 4 });
  await settled();
  put(keys.psDesired, '3');
  troubled.releaseHold();
  expect(await requesting).toMatchObject({ pservers: 3 });
  expect(pservers()).toBe('4');
});

it('that lands late changes nothing that was asked for since', async () => {
  troubled.next('unknownLate');
  const requesting = request({ pservers: 4 });
  await settled();
  put(keys.psDesired, '3');
  const state = stateOf(requesting);
  await clock.advance(5_000);
  await state;
  expect(await stateOf(requesting)).toBe('refused: StoreUnknownOutcome');
  expect(troubled.landLate()).toEqual([false]);
  expect(pservers()).toBe('3');
});

it('is refused when the job has ended, or is another one', async () => {
  put(keys.result, JSON.stringify(aResult(job)));
  await expect(request({ pservers: 4 })).rejects.toMatchObject({ code: 'JobConflict' });
  put(keys.job, JSON.stringify(recordOf(job, { id: '6f8d2c1a-0000-4000-8000-00000000000b' })));
  await expect(request({ pservers: 4 })).rejects.toMatchObject({ code: 'JobUnknown' });
  expect(writes()).toBe(0);
});

it('does not land in a job that has ended in the meantime', async () => {
  troubled.hold();
  const requesting = request({ pservers: 4 });
  await settled();
  put(keys.result, JSON.stringify(aResult(job)));
  troubled.releaseHold();
  expect(await stateOf(requesting)).toBe('refused: JobConflict');
  expect(pservers()).toBe('2');
});
