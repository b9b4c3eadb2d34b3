/** Repairs after a pserver was restored, with a pserver that has only its ledger. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSignal } from '../../../../src/cluster/waiting.ts';
import { bitmapToText, createBitmap } from '../../../../src/core/bitmap.ts';
import { endOf } from '../../../../src/core/evaluation-points.ts';
import type { PassTask } from '../../../../src/core/tasks/address.ts';
import { noSums } from '../../../../src/core/tasks/state.ts';
import { type Repairs, type RepairsOptions, startRepairs } from '../../../../src/roles/master/tasks/repairs.ts';
import { openTaskTraining, type TaskTraining } from '../../../../src/roles/master/tasks/training.ts';
import type { TrainingOptions } from '../../../../src/roles/master/training.ts';
import { aStore, Master, settled, stateOf } from './service-rig.ts';

const ASKER = {
  ...{ trainer: 'a trainer', held: [], most: 1, maxWaitMs: 0 },
  closed: new AbortController().signal,
};

const TASKS = 4;
const PASSES = 5;
const NUMBER = 7;

/** A pserver that was restored from before its first push. */
class RestoredPserver {
  readonly closed = Array.from({ length: PASSES }, () => createBitmap(TASKS));
  readonly asked: number[] = [];

  answer(pass: number) {
    this.asked.push(pass);
    const ledgers = [bitmapToText(this.closed[pass]!)];
    return { free: () => {}, header: { recovery: NUMBER, watermark: 0, ledgers } };
  }

  close({ pass, task }: PassTask): void {
    this.closed[pass]!.add(task);
  }
}

function groupOf(pserver: RestoredPserver) {
  const placement = { pservers: [{ index: 0 }] };
  return {
    withPlacement: (_: string, attempt: (of: unknown) => unknown) => attempt(placement),
    ask: async (_: unknown, type: string, { pass }: { pass: number }) => {
      expect(type).toBe('closed');
      return pserver.answer(pass);
    },
  };
}

function begin(master: Master, pserver: RestoredPserver, enoughTasks: number, number = NUMBER): Repairs {
  const { context, fence, stopSignal, ends } = master;
  const job = { training: { passes: PASSES, seed: 1 }, tasks: { maxFailures: 3 } };
  const options = {
    ...{ context, fence, enoughTasks, stopSignal: stopSignal.signal, taskRecords: new Uint32Array(TASKS).fill(5) },
    record: { train: { tasks: TASKS }, job: { ...job, cluster: { minTrainers: 1, maxTrainers: 9 } } },
    group: groupOf(pserver),
    training: {
      queue: { counts: () => ({ pass: PASSES - 1 }), isDone: () => true, discarded: () => [] },
      release: () => {},
    },
    recoveries: { changed: createSignal(), current: () => ({ number }) },
    describeTask: String,
    roster: () => ['a trainer'],
    reconciled: { number: 0, read: 100, duplicate: 10 },
    isHeld: () => true,
    onFailed: () => ends.push('failed'),
    onFatal: (error: unknown) => ends.push(error),
    onChanged: () => {},
  };
  return startRepairs(options as unknown as RepairsOptions);
}

it('replays all passes in slices, and is done only after the last one', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const pserver = new RestoredPserver();
  const repairs = begin(master, pserver, 6);
  const slices: string[] = [];
  await settled();
  for (let batch = repairs.batch(); batch !== undefined; batch = repairs.batch()) {
    slices.push(batch.tasks.map(({ pass, task }) => `${pass}/${task}`).join(' '));
    expect(repairs.reconciled()).toBe(0);
    for (const _ of batch.tasks) {
      const answer = await batch.service.getTasks(ASKER);
      if (typeof answer === 'string') throw new Error(`no task: ${answer}`);
      pserver.close(answer[0]!);
      await batch.service.finish(answer[0]!, { ...noSums(), read: 5, duplicate: 2 });
    }
    await settled();
  }
  // Two passes of four make six or more.
  expect(slices).toEqual(['0/0 0/1 0/2 0/3 1/0 1/1 1/2 1/3', '2/0 2/1 2/2 2/3 3/0 3/1 3/2 3/3', '4/0 4/1 4/2 4/3']);
  expect(repairs.reconciled()).toBe(NUMBER);
  expect(JSON.parse(data.get(master.context.keys.tasksReconciled)!.value)).toEqual({
    ...{ number: NUMBER, read: 100 + 20 * 5, duplicate: 10 + 20 * 2 },
  });
  expect(repairs.sums()).toEqual({ read: 200, duplicate: 50 });
  expect(master.ends).toEqual([]);
});

/** Reports every task of the batch, after pushing those that it `pushes`; their addresses. */
async function work(
  repairs: Repairs,
  pserver: RestoredPserver,
  pushes: (task: PassTask) => boolean,
): Promise<string[]> {
  const { service, tasks } = repairs.batch()!;
  for (const _ of tasks) {
    const answer = await service.getTasks(ASKER);
    if (typeof answer === 'string') throw new Error(`no task: ${answer}`);
    if (pushes(answer[0]!)) pserver.close(answer[0]!);
    await service.finish(answer[0]!, { ...noSums(), read: 1 });
  }
  await settled();
  return tasks.map(({ pass, task }) => `${pass}/${task}`);
}

it('replays a task that was reported as done and never pushed, without any pserver having been restored', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const pserver = new RestoredPserver();
  for (let pass = 0; pass < PASSES; pass++) {
    for (let task = 0; task < TASKS; task++) if (pass !== 2 || task !== 1) pserver.close({ pass, task });
  }
  const repairs = begin(master, pserver, 6, 0);
  const checked = repairs.check();
  await settled();
  expect(await work(repairs, pserver, () => false)).toEqual(['2/1']);
  expect(await work(repairs, pserver, () => true)).toEqual(['2/1']);
  await checked;
  expect([repairs.batch(), repairs.sums(), master.ends]).toEqual([undefined, { read: 102, duplicate: 10 }, []]);
  await repairs.check();
  expect(repairs.batch()).toBeUndefined();
});

describe('the end of training', () => {
  /** One pass, whose tasks are all reported, and none pushed. */
  async function reported(pserver: RestoredPserver): Promise<TaskTraining> {
    const { clock, data } = aStore();
    const master = new Master(clock, data);
    const { context, fence, stopSignal, ends } = master;
    const tasks = { maxFailures: 3, maxDiscarded: 0, timeoutFactor: 2, timeoutFloorMs: 60_000 };
    const training = await openTaskTraining({
      ...{ context, fence, stopSignal: stopSignal.signal, group: groupOf(pserver) },
      record: {
        train: { tasks: TASKS },
        job: { training: { passes: 1, seed: 1 }, tasks, cluster: { minTrainers: 1, maxTrainers: 9 } },
      },
      dataset: { tasks: [], taskRecords: new Uint32Array(TASKS).fill(1), index: { files: [] } },
      isHeld: () => true,
      until: endOf,
      onPassEnded: () => {},
      onPassesEnded: () => {},
      onChanged: () => {},
      onFatal: (error: unknown) => ends.push(error),
    } as unknown as TrainingOptions);
    onTestFinished(() => training.close());
    training.tell({ type: 'roster', trainers: ['a trainer'] });
    for (let task = 0; task < TASKS; task++) {
      const answer = await training.service.getTasks(ASKER);
      if (typeof answer === 'string') throw new Error(`no task: ${answer}`);
      await training.service.finish(answer[0]!, { ...noSums(), read: 1, good: 1 });
    }
    return training;
  }

  it('comes when every task is pushed, whatever trainers report', async () => {
    const pserver = new RestoredPserver();
    const training = await reported(pserver);
    const trained = training.trained();
    expect(await stateOf(trained)).toBe('open');
    expect(await work(training.repairs, pserver, () => true)).toEqual(['0/0', '0/1', '0/2', '0/3']);
    (await trained).release();
  });
});

it('fails the job when tasks are reported again and again and never pushed', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const pserver = new RestoredPserver();
  const repairs = begin(master, pserver, 100);
  await settled();
  for (let replay = 0; replay < 5; replay++) await work(repairs, pserver, ({ pass }) => pass > 0);
  expect(repairs.batch()).toBeUndefined();
  expect(master.ends).toMatchObject([{ code: 'WrongCounts', action: 'fatal' }]);
  expect(master.ends).toEqual([
    expect.objectContaining({ message: expect.stringContaining('a shard still lacks 4 finished tasks') }),
  ]);
});

it('believes no pserver that has not seen the recovery number', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const pserver = new RestoredPserver();
  for (const closed of pserver.closed) for (let task = 0; task < TASKS; task++) closed.add(task);
  const repairs = begin(master, pserver, 6, NUMBER + 1);
  await settled();
  expect(repairs.reconciled()).toBe(0);
  expect(master.ends).toMatchObject([{ code: 'NotReady' }]);
});
