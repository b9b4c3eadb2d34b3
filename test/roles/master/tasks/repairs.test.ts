/** Repairs after a pserver was restored, with a pserver that has only its ledger. */
import { expect, it } from 'vitest';
import { createSignal } from '../../../../src/cluster/waiting.ts';
import { bitmapToText, createBitmap } from '../../../../src/core/bitmap.ts';
import type { PassTask } from '../../../../src/core/tasks/address.ts';
import { noSums } from '../../../../src/core/tasks/state.ts';
import { type Repairs, type RepairsOptions, startRepairs } from '../../../../src/roles/master/tasks/repairs.ts';
import { aStore, Master, settled } from './service-rig.ts';

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

function begin(master: Master, pserver: RestoredPserver, enoughTasks: number): Repairs {
  const { context, fence, stopSignal, ends } = master;
  const job = { training: { passes: PASSES, seed: 1 }, tasks: { maxFailures: 3 } };
  const placement = { pservers: [{ index: 0 }] };
  const options = {
    ...{ context, fence, enoughTasks, stopSignal: stopSignal.signal, taskRecords: new Uint32Array(TASKS).fill(1) },
    record: { train: { tasks: TASKS }, job: { ...job, cluster: { minTrainers: 1, maxTrainers: 9 } } },
    group: {
      withPlacement: (_: string, attempt: (of: unknown) => unknown) => attempt(placement),
      ask: async (_: unknown, type: string, { pass }: { pass: number }) => {
        expect(type).toBe('closed');
        return pserver.answer(pass);
      },
    },
    training: {
      queue: { counts: () => ({ pass: PASSES - 1 }), isDone: () => true, discarded: () => [] },
      release: () => {},
    },
    recoveries: { changed: createSignal(), current: () => ({ number: NUMBER }) },
    describeTask: String,
    roster: () => ['a trainer'],
    reconciled: 0,
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
      const answer = await batch.service.getTask('a trainer', [], 0, new AbortController().signal);
      if (typeof answer === 'string') throw new Error(`no task: ${answer}`);
      pserver.close(answer.attempt);
      await batch.service.finish(answer.attempt, noSums());
    }
    await settled();
  }
  // Two passes of four make six or more.
  expect(slices).toEqual(['0/0 0/1 0/2 0/3 1/0 1/1 1/2 1/3', '2/0 2/1 2/2 2/3 3/0 3/1 3/2 3/3', '4/0 4/1 4/2 4/3']);
  expect(repairs.reconciled()).toBe(NUMBER);
  expect(data.get(master.context.keys.tasksReconciled)?.value).toBe(String(NUMBER));
  expect(master.ends).toEqual([]);
});
