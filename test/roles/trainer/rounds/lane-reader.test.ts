import { expect, test } from 'vitest';
import { createRoundPlan } from '../../../../src/core/rounds/plan.ts';
import { createLaneReader } from '../../../../src/roles/trainer/rounds/lane-reader.ts';
import { type PassOrder, passOrderOf } from '../../../../src/roles/trainer/tasks/pass-order.ts';
import { recordsOf } from './rounds-job.ts';

/** Two lanes; of each three tasks a pass, each three batches of three records. */
const plan = createRoundPlan({
  taskRecords: Uint32Array.of(7, 7, 7, 7, 7, 7),
  batchSize: 3,
  passes: 2,
  lanes: 2,
  seed: 1,
});
/** One lane with one task a pass. */
const planOfOne = createRoundPlan({ taskRecords: Uint32Array.of(7), batchSize: 3, passes: 2, lanes: 1, seed: 1 });
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const taskAt = (round: number, lane: number): number => plan.batchOf(round, lane)!.task;

function counting(
  fails: (task: number) => boolean = () => false,
  passOrder: PassOrder = (records) => records,
  of = plan,
) {
  const read: number[] = [];
  const reader = createLaneReader(
    of,
    async (task) => {
      read.push(task);
      if (fails(task)) throw new Error('cannot be read');
      return recordsOf(task);
    },
    passOrder,
  );
  return { reader, read };
}

test('reads what the round wants, then the task after it, once', async () => {
  const { reader, read } = counting();
  reader.ahead(0, [0]);
  expect(read).toEqual([taskAt(0, 0)]);
  await settle();
  expect(read).toEqual([taskAt(0, 0), taskAt(3, 0)]);
  for (let round = 0; round < 3; round++) {
    reader.ahead(round, [0]);
    await reader.read(round, 0);
  }
  await settle();
  expect(read).toHaveLength(2);
  expect(reader.held()).toBe(2);
});

test('goes on into the next pass, and ends after the last', async () => {
  const { reader, read } = counting();
  for (let round = 0; round < plan.firstOf(2); round++) {
    reader.ahead(round, [1]);
    expect((await reader.read(round, 1))?.position).toEqual(plan.batchOf(round, 1));
    await settle();
    expect(reader.held()).toBeLessThanOrEqual(2);
  }
  expect(read).toHaveLength(6);
  expect(reader.held()).toBe(1);
});

test('lanes that are not wanted any more are let go', async () => {
  const { reader } = counting();
  reader.ahead(0, [0, 1]);
  await settle();
  expect(reader.held()).toBe(4);
  reader.ahead(1, [1]);
  expect(reader.held()).toBe(2);
  reader.ahead(1, []);
  expect(reader.held()).toBe(0);
});

test('back to an earlier round, as after a rollback', async () => {
  const { reader } = counting();
  reader.ahead(7, [0]);
  await reader.read(7, 0);
  reader.ahead(0, [0]);
  expect((await reader.read(0, 0))?.position.task).toBe(taskAt(0, 0));
  await settle();
  expect(reader.held()).toBe(2);
});

test('a task that could not be read ahead is no matter before it is wanted, and is read again then', async () => {
  let broken = true;
  const { reader } = counting((task) => broken && task === taskAt(3, 0));
  reader.ahead(0, [0]);
  await reader.read(0, 0);
  await settle();
  await expect(reader.read(3, 0)).rejects.toThrow('cannot be read');
  broken = false;
  expect((await reader.read(3, 0))?.position.task).toBe(taskAt(3, 0));
});

const shuffling = passOrderOf({
  job: { data: { shuffle: 'records' }, training: { seed: 1 } },
} as Parameters<typeof passOrderOf>[0]);

test('a task that ends a pass of its lane and begins the next one is in another order in each', async () => {
  const { reader, read } = counting(() => false, shuffling, planOfOne);
  const passes: string[] = [];
  for (let round = 0; round < planOfOne.firstOf(2); round++) {
    reader.ahead(round, [0]);
    const { position, describe } = (await reader.read(round, 0))!;
    passes[position.pass] = `${passes[position.pass] ?? ''}; ${describe()}`;
  }
  expect(read).toHaveLength(1);
  expect(passes).toHaveLength(2);
  expect(passes[1]).not.toBe(passes[0]);
});

test('each pass has the records of a task in an order of its own, with the good ones counted in it', async () => {
  const { reader } = counting(() => false, shuffling);
  const batches = new Map<string, string[]>();
  for (let round = 0; round < plan.firstOf(2); round++) {
    reader.ahead(round, [0]);
    const found = await reader.read(round, 0);
    if (found === undefined) continue;
    const { pass, task } = found.position;
    const key = `${pass} ${task}`;
    batches.set(key, [...(batches.get(key) ?? []), found.describe()]);
    const lines = batches.get(key)!.flatMap((text) => text.split('; '));
    // Those of lines 4 to 6 of task 3 are bad.
    const isGood = (line: string): boolean => task !== 3 || !/line [456]$/.test(line);
    expect(found.good).toBe(lines.filter(isGood).length);
  }
  for (const [key, texts] of batches) {
    const lines = texts.flatMap((text) => text.split('; '));
    expect(new Set(lines).size).toBe(7);
    const other = batches.get(`${1 - Number(key[0])} ${key.slice(2)}`);
    if (other !== undefined) expect(other).not.toEqual(texts);
  }
  expect(batches.size).toBe(6);
});
