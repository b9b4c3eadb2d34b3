/** Points of the curves, by a master of a job in async mode: saved with what they count, or not there. */
import { expect, it } from 'vitest';
import { historyText, windowsOf } from '../../../../src/core/history.ts';
import { addMetrics, noSums as noMetrics } from '../../../../src/core/pass-metrics.ts';
import { noSums, type TaskSums } from '../../../../src/core/tasks/state.ts';
import { readHistory } from '../../../../src/roles/master/load-history.ts';
import type { TaskAsker, TaskService } from '../../../../src/roles/master/tasks/service.ts';
import { aStore, Master, settled, stateOf } from './service-rig.ts';

const sumsOf = (records: number): TaskSums => ({
  ...noSums(),
  good: records,
  metrics: { records, weight: records, loss: records / 8, correct: 1, squaredError: records / 4 },
});

const TASKS = { tasks: 4, passes: 2 };

async function serve(master: Master): Promise<TaskService> {
  const service = await master.service(TASKS);
  service.tell({ type: 'roster', trainers: ['ann'] });
  return service;
}

const asked = (most: number): TaskAsker => {
  return { trainer: 'ann', held: [], most, maxWaitMs: 1000, closed: new AbortController().signal };
};

async function train(service: TaskService, records: number): Promise<unknown> {
  const tasks = await service.getTasks(asked(1));
  if (typeof tasks === 'string') throw new Error(tasks);
  return stateOf(service.finish(tasks[0]!, sumsOf(records)));
}

const shown = ({ context }: Master) => readHistory(context.store, context.keys);

it('a point is in the transaction of the end that it counts, and of a pass that ends with it', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await serve(master);
  for (const records of [10, 20, 30]) await train(service, records);
  const before = master.troubled.writes.length;
  await train(service, 40);
  // The next task was handed out in one, and this one is ended in the other.
  expect(master.troubled.writes.length).toBe(before + 2);
  const { train: points, passes } = await shown(master);
  expect(windowsOf(points).map(({ records, loss }) => [records, loss])).toEqual(
    [10, 20, 30, 40].map((n) => [n, n / 8]),
  );
  expect(passes).toMatchObject([{ pass: 0, records: 100, loss: 12.5 }]);
});

it('a master that dies before the save has shown nothing; the next one counts each task once', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await serve(master);
  await train(service, 10);
  master.troubled.hold();
  void service.getTasks(asked(1));
  await settled();
  expect((await shown(master)).train).toHaveLength(1);
  const next = new Master(clock, data);
  // What the first one sends now finds the lock gone.
  master.troubled.releaseHold();
  await settled();
  const before = await shown(next);
  const other = await serve(next);
  await train(other, 20);
  const after = await shown(next);
  expect(after.train.slice(0, before.train.length)).toEqual(before.train);
  expect(windowsOf(after.train).map(({ records }) => records)).toEqual([10, 20]);
});

it('an end whose answer was lost, and that is reported again to the next master, counts once', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await serve(master);
  const tasks = await service.getTasks(asked(2));
  if (typeof tasks === 'string') throw new Error(tasks);
  master.troubled.next('unknownLanded');
  void service.finish(tasks[0]!, sumsOf(10));
  await settled();
  const next = new Master(clock, data);
  const before = await shown(next);
  const other = await serve(next);
  expect(await stateOf(other.finish(tasks[0]!, sumsOf(10)))).toBe('refused: AttemptNotLive');
  await train(other, 20);
  const { train: points } = await shown(next);
  expect(points.slice(0, 1)).toEqual(before.train);
  expect(windowsOf(points).reduce(addMetrics, noMetrics).records).toBe(30);
});

it('without the lock nothing is written', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await serve(master);
  const tasks = await service.getTasks(asked(2));
  if (typeof tasks === 'string') throw new Error(tasks);
  await service.finish(tasks[0]!, sumsOf(10));
  const next = new Master(clock, data);
  const before = await shown(next);
  expect(await stateOf(service.finish(tasks[1]!, sumsOf(20)))).toBe('open');
  expect(master.ends).toMatchObject([{ code: 'LeaseGone' }]);
  expect(await shown(next)).toEqual(before);
  expect(before.train).toHaveLength(1);
});

it('a pass whose point was not saved gets it from the next master', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await serve(master);
  for (const records of [10, 20, 30, 40]) await train(service, records);
  data.txn({ if: [], then: [{ delete: master.context.keys.history }] });
  const next = new Master(clock, data);
  await train(await serve(next), 50);
  const { train: points, passes } = await shown(next);
  expect(points).toMatchObject([{ records: 150, pass: 1 }]);
  expect(passes).toMatchObject([{ pass: 0, records: 100 }]);
});

it('a master that adds up in another order has sums that are not below those of a point that is there', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await serve(master);
  await train(service, 10);
  const { train: before, ...rest } = await shown(master);
  const higher = before.map((point) => ({ ...point, loss: point.loss + 1e-9, correct: point.correct + 1e-9 }));
  data.txn({ if: [], then: [{ put: master.context.keys.history, value: historyText({ ...rest, train: higher }) }] });
  const next = new Master(clock, data);
  const other = await serve(next);
  const tasks = await other.getTasks(asked(1));
  if (typeof tasks === 'string') throw new Error(tasks);
  await other.finish(tasks[0]!, { ...noSums(), metrics: { ...noMetrics, records: 1 } });
  const { train: points } = await shown(next);
  expect(points[0]).toEqual(higher[0]);
  expect(points[1]).toMatchObject({ records: 11, loss: higher[0]!.loss, correct: higher[0]!.correct });
});

it('curves that cannot be read begin again, as training needs none', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  await train(await serve(master), 10);
  data.txn({ if: [], then: [{ put: master.context.keys.history, value: '{"version":99}' }] });
  await expect(shown(master)).rejects.toMatchObject({ code: 'StoreValueInvalid' });
  const next = new Master(clock, data);
  await train(await serve(next), 20);
  expect((await shown(next)).train).toMatchObject([{ records: 30 }]);
});

it('counts of any size can be read back', async () => {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await serve(master);
  for (let task = 0; task < 2; task++) await train(service, Number.MAX_SAFE_INTEGER);
  expect((await shown(master)).train.at(-1)).toMatchObject({ records: Number.MAX_SAFE_INTEGER });
});
