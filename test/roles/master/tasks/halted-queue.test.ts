/** A queue that halts, under one master after the other: each goes on up to where the job was let go. */
import { expect, it } from 'vitest';
import { noSums } from '../../../../src/core/tasks/state.ts';
import { openTrainingService, type TrainingService } from '../../../../src/roles/master/tasks/open-service.ts';
import type { TrainingOptions } from '../../../../src/roles/master/training.ts';
import { keysOf } from '../../../../src/store/keys.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { aJob, publishing, recordOf } from '../../../cluster/job/stored-job.ts';
import { aStore, Master, settled } from './service-rig.ts';

const OPEN = new AbortController().signal;
const { clock, data } = aStore();
const record = recordOf(aJob({ passes: 5 }));
const dataset = {
  tasks: [],
  taskRecords: new Uint32Array(1).fill(3),
  index: { files: [] },
  tasksAtOnce: 1,
} as unknown as TrainingOptions['dataset'];

/** A master that takes over a job that may have so many passes. */
async function open(store: MemoryStoreData, until: number): Promise<{ master: Master; opened: TrainingService }> {
  const master = new Master(clock, store);
  const { context, fence, stopSignal, ends } = master;
  const options = {
    ...{ context, fence, record, dataset, stopSignal: stopSignal.signal, isHeld: () => true },
    until: () => ({ passes: until }),
    onFatal: (error: unknown) => ends.push(error),
    onPassEnded: () => {},
    onPassesEnded: () => {},
  };
  const opened = await openTrainingService(options as unknown as TrainingOptions, () => {});
  opened.service.tell({ type: 'roster', trainers: ['ann'] });
  return { master, opened };
}

async function train({ service }: TrainingService): Promise<void> {
  const asker = { trainer: 'ann', held: [], most: 1, maxWaitMs: 1_000, closed: OPEN };
  const answer = await service.getTasks(asker);
  if (typeof answer === 'string') throw new Error(`there is no task: ${answer}`);
  await service.finish(answer[0]!, noSums());
  await settled();
}

it('goes on though the master that let it go on has died before it was told', async () => {
  data.txn({ if: [], then: publishing(keysOf('/paddlet/test'), record) });
  const { opened } = await open(data, 1);
  await train(opened);
  expect(opened.service.queue.counts()).toMatchObject({ phase: 'ended', pass: 0 });
  // Where it halts was in the store by then, and only that.
  const next = await open(data, 2);
  expect(next.opened.service.queue.counts()).toMatchObject({ phase: 'train', pass: 1 });
  await train(next.opened);
  const last = await open(data, 2);
  expect(last.opened.service.queue.counts()).toMatchObject({ phase: 'ended', pass: 1 });
  expect(last.opened.service.queue.totals().ended).toHaveLength(2);
  expect(last.master.ends).toEqual([]);
});
