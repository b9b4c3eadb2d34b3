/** A role notices that the job is no longer the one that it has read. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { PaddletError } from '../../../src/base/errors.ts';
import { checkRecord, followRecord } from '../../../src/cluster/job/record-changes.ts';
import { waitForJob } from '../../../src/cluster/job/wait-for-job.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Op } from '../../../src/store/store.ts';
import { aStore, Master, stateOf } from '../../roles/master/tasks/service-rig.ts';
import { aJob, publishing, recordOf } from './stored-job.ts';

let data: MemoryStoreData;
let process: Master;
const record = recordOf(aJob());
const successor = recordOf(aJob(), { id: '6f8d2c1a-0000-4000-8000-00000000000b' });

const write = (...then: Op[]): void => void data.txn({ if: [], then });
const keys = () => process.context.keys;
const publish = (one = record): void => write(...publishing(keys(), one));
const remove = (): void => write({ deletePrefix: `${keys().chroot}/` });

beforeEach(() => {
  const store = aStore();
  data = store.data;
  process = new Master(store.clock, data);
  publish();
});

const CHANGES: readonly (readonly [string, () => void, RegExp])[] = [
  ['the job is removed', remove, /was removed/],
  [
    'another one has its name',
    () => {
      remove();
      publish(successor);
    },
    /was removed|was started over/,
  ],
  [
    'another one has its name, at once',
    () => write({ put: keys().job, value: JSON.stringify(successor) }),
    /was started over/,
  ],
  ['it has more passes', () => write({ put: keys().passesDesired, value: '4' }), /now has 4 passes; it had 2/],
];

describe.each(CHANGES)('%s', (_what, change, message) => {
  async function changesSeen(...steps: (() => void | Promise<void>)[]): Promise<PaddletError[]> {
    const seen: PaddletError[] = [];
    const onEnd = (error: Error): void => {
      throw error;
    };
    for (const step of steps) await step();
    const cancel = followRecord(process.context, record, { onChanged: (error) => seen.push(error), onEnd });
    await process.clock.advance(1_000);
    if (steps.length === 0) {
      expect(seen).toEqual([]);
      change();
      await process.clock.advance(1_000);
    }
    cancel();
    return seen;
  }

  it('while it is followed', async () => {
    const seen = await changesSeen();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ code: 'JobChanged', message: expect.stringMatching(message) });
  });

  it('before it is followed', async () => {
    expect(await changesSeen(change)).toMatchObject([{ code: 'JobChanged' }]);
  });

  it('before the index was claimed', async () => {
    await checkRecord(process.context, record);
    change();
    await expect(checkRecord(process.context, record)).rejects.toMatchObject({ code: 'JobChanged' });
  });
});

it('a job that is removed while it is being read is waited for again', async () => {
  const waiting = waitForJob(process.context);
  // The job was seen; it is read next.
  remove();
  await process.clock.advance(1_000);
  expect(await stateOf(waiting)).toBe('open');
  publish(successor);
  expect((await waiting).id).toBe(successor.id);
});
