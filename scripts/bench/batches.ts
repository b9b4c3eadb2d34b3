/**
 * Processor time of small mini-batches: trainers that compute LR on 128 records at a time (14 features of 124, as a9a
 * has), and pservers that apply their pushes, with the roles' own code and sockets between them. The store and the
 * master are missing. All are in one process: so none waits for another one to get a core, and processor time is of
 * both ends together. Run: `npx node scripts/bench/batches.ts [--trainers 2] [--pservers 2] [--tasks 500]`.
 */
import { parseArgs } from 'node:util';
import { Turns } from '../../src/cluster/waiting.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { createClock } from '../../src/host/clock.ts';
import { createLinear } from '../../src/model/lr.ts';
import { GradientCheck } from '../../src/roles/trainer/compute/gradient-check.ts';
import { PullQueue } from '../../src/roles/trainer/tasks/pull-queue.ts';
import { beginProgress, TaskTraining } from '../../src/roles/trainer/tasks/train-task.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import { median } from './figure.ts';
import { connectGroup, listenAsPserver, type Plan, SHARDS } from './pserver-peer.ts';
import { cpuMs } from './wire-peer.ts';

const PLAN: Plan = { recordsPerTask: 1000, batchSize: 128 };
const BATCHES = Math.ceil(PLAN.recordsPerTask / PLAN.batchSize);
const FEATURES = 14;
const IDS = 124;
const PULL_AHEAD = 2;
const ROUNDS = 9;

/** Records of features that are drawn from all ids alike. */
function taskRecords(): TaskRecords {
  const ids = new Uint32Array(2 * IDS).map((_, at) => (at % 2 === 0 ? 1 + at / 2 : 0));
  const made = new Map<number, ReturnType<TaskRecords['batch']>>();
  const make = (records: number): ReturnType<TaskRecords['batch']> => ({
    records,
    labels: Float32Array.from({ length: records }, (_, record) => record % 2),
    sparse: [
      {
        offsets: Uint32Array.from({ length: records + 1 }, (_, record) => record * FEATURES),
        rows: Uint32Array.from({ length: records * FEATURES }, (_, at) => (at * 7919) % IDS),
        values: undefined,
        ids: new Uint8Array(ids.buffer),
        count: IDS,
      },
    ],
    dense: [],
  });
  return {
    records: PLAN.recordsPerTask,
    bad: [],
    batch(from, to) {
      const batch = made.get(to - from) ?? make(to - from);
      made.set(to - from, batch);
      return batch;
    },
    pick: () => {
      throw new Error('this task is not shuffled');
    },
    goodBefore: (position) => position,
    describe: (from, to) => `${from} to ${to}`,
  };
}

/** Trains one task again and again, each time in the next pass. */
function createTrainer(task: number, addresses: readonly string[]): (tasks: number) => Promise<void> {
  const model = createLinear();
  const router = createIdRouter({ shards: SHARDS });
  const client = connectGroup(model.parameters, addresses, router);
  const { signal } = new AbortController();
  const pulls = new PullQueue({ client, id: `trainer-${task}`, ahead: PULL_AHEAD });
  const activity = { enter: () => {}, position: () => {}, trained: () => {} };
  const options = {
    ...{ model, client, router, activity, signal, pulls, pullAhead: PULL_AHEAD, gated: false },
    turns: new Turns(createClock()),
    ...{ batchSize: PLAN.batchSize, pushEvery: 1, pullEvery: 1 },
    gradientCheck: new GradientCheck({ onBadGradient: 'fail' }, { warn: () => {} }, model.parameters.dense),
  };
  const records = taskRecords();
  let pass = 0;
  const open = (): TaskTraining =>
    new TaskTraining(options, beginProgress({ pass: pass++, task }, records, 0), 0, 'last');
  const settle = async (training: TaskTraining): Promise<void> => {
    await training.settled();
    training.close();
  };
  return async (tasks) => {
    let next = open();
    let settled = Promise.resolve();
    for (let count = 1; count <= tasks; count++) {
      const training = next;
      if (count < tasks) next = open();
      await training.run();
      await settled;
      settled = settle(training);
    }
    await settled;
  };
}

const { values } = parseArgs({
  options: {
    trainers: { type: 'string', default: '2' },
    pservers: { type: 'string', default: '2' },
    tasks: { type: 'string', default: '500' },
  },
});
const pservers = Number(values.pservers);
const tasks = Number(values.tasks);
const spec = createLinear().parameters;
const parts = Array.from({ length: pservers }, (_, first) => ({ first, every: pservers }));
const ports = await Promise.all(parts.map((part) => listenAsPserver({ spec, part, plan: PLAN })));
const addresses = ports.map((port) => `127.0.0.1:${port}`);
const trainers = Array.from({ length: Number(values.trainers) }, (_, task) => createTrainer(task, addresses));
const requestUs: number[] = [];
for (let round = -1; round < ROUNDS; round++) {
  const before = cpuMs();
  await Promise.all(trainers.map((train) => train(tasks)));
  const us = (1000 * (cpuMs() - before)) / (trainers.length * tasks * BATCHES * pservers);
  if (round >= 0) requestUs.push(us);
}
const [best, worst] = [Math.min(...requestUs), Math.max(...requestUs)];
process.stdout.write(
  `a push with a pull: ${median(requestUs).toFixed(1)} us of processor time, ${best.toFixed(1)} to ${worst.toFixed(1)}\n`,
);
process.exit();
