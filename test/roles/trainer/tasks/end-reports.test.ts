/** Which ends of tasks a trainer tells together, and when. */
import { beforeEach, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import { noMetrics } from '../../../../src/model/metrics.ts';
import type { TaskEnd } from '../../../../src/protocol/messages/all-messages.ts';
import { toErrorHeader } from '../../../../src/protocol/messages/error-header.ts';
import { END_WAIT_MS, EndReports } from '../../../../src/roles/trainer/tasks/end-reports.ts';
import { FakeClock } from '../../../store/support.ts';

const clock = new FakeClock();
let told: number[][];
let answer: (ends: readonly TaskEnd[]) => readonly { at: number; error: unknown }[];
let isBusy: boolean;
let ends: EndReports;

beforeEach(() => {
  told = [];
  answer = () => [];
  isBusy = true;
  const master = {
    request: async ({ header }: { header: { ends: readonly TaskEnd[] } }) => {
      told.push(header.ends.map(({ task }) => task));
      return { header: { refused: answer(header.ends) }, free: () => {} };
    },
  };
  ends = new EndReports({
    ...{ master: master as never, record: { id: 'job', batchPlanId: 'plan' } as never, id: 'ann', clock },
    ...{ stopSignal: new AbortController().signal, mayWait: () => isBusy },
  });
});

const endOf = (task: number): TaskEnd => ({
  ...{ queue: 'train', pass: 0, task, attempt: 1, recovery: 0 },
  ...{ records: 1, good: 1, bad: 0, read: 1, duplicate: 0, metrics: noMetrics },
});

it('waits a little for others, and goes with them', async () => {
  const all = [ends.tell(endOf(1)), ends.tell(endOf(2))];
  await clock.advance(END_WAIT_MS - 1);
  expect(told).toEqual([]);
  await clock.advance(1);
  await Promise.all(all);
  expect(told).toEqual([[1, 2]]);
  expect(clock.pendingTimers).toBe(0);
});

it('goes at once when the trainer has nothing else to do, with those that wait', async () => {
  const first = ends.tell(endOf(1));
  isBusy = false;
  await Promise.all([first, ends.tell(endOf(2))]);
  expect(told).toEqual([[1, 2]]);
  expect(clock.pendingTimers).toBe(0);
});

it('goes when the master is asked for tasks; then there is nothing more to tell', async () => {
  const first = ends.tell(endOf(1));
  ends.flush();
  ends.flush();
  await first;
  expect(told).toEqual([[1]]);
});

it('is refused by itself: the others are taken', async () => {
  const stale = new PaddletError('StaleRecovery', 'acknowledged before');
  answer = () => [{ at: 1, error: toErrorHeader(stale) }];
  const all = [1, 2, 3].map((task) => ends.tell(endOf(task)));
  ends.flush();
  const settled = await Promise.allSettled(all);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(settled[1]).toMatchObject({ reason: { code: 'StaleRecovery' } });
});

it('fails with what the request fails with', async () => {
  answer = () => {
    throw new PaddletError('WrongJob', 'another job');
  };
  const all = [1, 2].map((task) => ends.tell(endOf(task)));
  ends.flush();
  for (const one of await Promise.allSettled(all)) expect(one).toMatchObject({ reason: { code: 'WrongJob' } });
});

it('is told when the trainer leaves, without waiting for others', () => {
  void ends.tell(endOf(1));
  void ends.tell(endOf(2));
  expect(ends.close()).toMatchObject({ header: { type: 'finishTasks', ends: [{ task: 1 }, { task: 2 }] } });
  expect(ends.close()).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});
