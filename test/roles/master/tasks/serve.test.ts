/** Which queue a trainer's request goes to, by the address of the task that it names. */

import { beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { allAtOnce } from '../../../../src/base/steps.ts';
import { createSignal } from '../../../../src/cluster/waiting.ts';
import {
  type Addressing,
  type AttemptRef,
  evaluationTasks,
  repairTasks,
  trainingTasks,
} from '../../../../src/core/tasks/address.ts';
import { createTaskQueue } from '../../../../src/core/tasks/queue.ts';
import { noMetrics } from '../../../../src/model/metrics.ts';
import { encodeFrame } from '../../../../src/protocol/frames/frame.ts';
import { fromErrorHeader } from '../../../../src/protocol/messages/error-header.ts';
import { tasksAtOnce } from '../../../../src/roles/master/dataset.ts';
import { EvaluationResults } from '../../../../src/roles/master/evaluation.ts';
import { Failures } from '../../../../src/roles/master/failures.ts';
import type { MasterState } from '../../../../src/roles/master/state.ts';
import { answerTasks, type TaskRequest } from '../../../../src/roles/master/tasks/serve.ts';
import type { TaskService } from '../../../../src/roles/master/tasks/service.ts';
import type { TaskTraining } from '../../../../src/roles/master/tasks/training.ts';
import { configOf } from '../../../core/tasks/queue-rig.ts';
import { aStore, Master, stateOf } from './service-rig.ts';

const JOB = { job: 'j', batchPlanId: 'b' };
const chunk = { file: 0, offset: 0, bytes: 9, firstRecord: 0, records: 1, firstLine: 1, crc32: 0 };
const dataset = {
  index: { files: [{ path: 'part', bytes: 9, records: 1 }] },
  tasks: [[chunk], [chunk], [chunk]],
  taskRecords: Uint32Array.of(1, 1, 1),
  tasksAtOnce: LIMITS.tasksHeld,
} as unknown as TaskTraining['dataset'];

let master: Master;
let state: MasterState;
let batch: TaskService | undefined;

beforeEach(() => {
  const { clock, data } = aStore();
  master = new Master(clock, data);
  batch = undefined;
  const service = open(trainingTasks);
  const training = {
    mode: 'async',
    service,
    dataset,
    repairs: { batch: () => batch && { service: batch, tasks: [] }, reconciled: () => 0, cancel: () => {} },
    recovery: () => 0,
    waitReason: () => 'a test',
  } as unknown as TaskTraining;
  const trainers = { heard: () => {}, quietMs: () => 0, addresses: new Map(), reports: new Map(), cancel: () => {} };
  state = {
    record: { job: { data: { maxBadRecords: 0 } } } as MasterState['record'],
    trainers,
    failures: new Failures(clock),
    training,
    samples: undefined as never,
    saves: undefined,
    evaluations: undefined,
    evaluation: undefined,
    isFinished: false,
    changed: createSignal(),
    isHeld: () => true,
    clock,
  };
});

function open(addressing: Addressing, tasks = 1): TaskService {
  const queue = createTaskQueue(configOf({ tasks, addressing, maxDiscarded: 0 }), undefined, 0);
  const service = master.serviceOf(queue, undefined);
  service.tell({ type: 'roster', trainers: ['ann', 'bob'] });
  return service;
}

function evaluate(restores: number): TaskService {
  const service = open(evaluationTasks(restores));
  state.evaluation = { service, dataset, results: new EvaluationResults({ task: 'binary', tasks: 1, topK: 10 }) };
  return service;
}

async function ask(header: TaskRequest, segments: readonly Uint8Array[] = []) {
  const request = { header, segmentCount: segments.length, segment: (at: number) => segments[at]!, free: () => {} };
  return (await answerTasks(state, request, { onClosed: () => () => {} } as never)).header;
}

async function take(trainer: string, held: readonly AttemptRef[] = []): Promise<AttemptRef> {
  const refs = held.map(({ queue, pass, task, attempt }) => ({ queue, pass, task, attempt }));
  const asked = ask({ type: 'getTasks', ...JOB, trainer, held: refs, most: 1, maxWaitMs: 0 });
  await master.clock.advance(0);
  const reply = await asked;
  if (reply.type !== 'getTasks' || reply.tasks === undefined) throw new Error(`${trainer} got no task`);
  const { queue, pass, task, attempt } = reply.tasks[0]!;
  return { queue, pass, task, attempt, trainer };
}

const COUNTS = { recovery: 0, records: 1, good: 1, bad: 0, read: 1, duplicate: 0, metrics: noMetrics };
async function finishAll(ends: readonly [AttemptRef, Partial<typeof COUNTS>][]) {
  const [first] = ends;
  const { trainer } = first![0];
  const told = ends.map(([{ trainer: _, ...ref }, counts]) => ({ ...ref, ...COUNTS, ...counts }));
  const reply = await ask({ type: 'finishTasks', ...JOB, trainer, ends: told });
  if (reply.type !== 'finishTasks') throw new Error('another answer');
  return reply;
}
/** Throws what it is refused with. */
async function finish(ref: AttemptRef, counts: Partial<typeof COUNTS> = {}) {
  const reply = await finishAll([[ref, counts]]);
  const [refused] = reply.refused;
  if (refused !== undefined) throw fromErrorHeader(refused.error, 'the master');
  return reply;
}

const oneRecord = { ...noMetrics, records: 1, weight: 1 };
const NONE = new Uint8Array(0);
const floats = (value: number): Uint8Array => new Uint8Array(Float32Array.of(value).buffer);
const finishEvaluation = (
  ref: AttemptRef,
  score: number,
  counts: { bad?: number; metrics?: typeof oneRecord } = {},
  segments: Uint8Array[] = [floats(score), floats(1), NONE, NONE],
) => {
  const header = { type: 'finishEvaluation' as const, ...JOB, ...ref, bad: 0, metrics: oneRecord, ...counts };
  return ask(header, segments);
};
const progress = (ref: AttemptRef) => {
  const { trainer, ...address } = ref;
  const executing = { ...address, position: 0 };
  return ask({ type: 'progress', ...JOB, trainer, executing, phase: 'compute', records: 0 });
};

const repairOf = (pass: number, task: number): void => {
  batch = open(repairTasks([{ pass, task }]));
};

/** Tasks of so many records, each in a file of its own. */
function manyFiles(tasks: number, records: number) {
  const files = Array.from({ length: tasks * records }, (_, file) => ({
    ...{ path: `corpus/2026-11/document-${String(file).padStart(7, '0')}.libsvm`, bytes: 40_000, records: 1 },
  }));
  const chunksOf = (task: number) =>
    Array.from({ length: records }, (_, at) => ({ ...chunk, file: task * records + at, bytes: 40_000, crc32: 3e9 }));
  const index = { files } as unknown as TaskTraining['dataset']['index'];
  const cut = { index, tasks: Array.from({ length: tasks }, (_, task) => chunksOf(task)) };
  return { ...cut, taskRecords: new Uint32Array(tasks).fill(records), tasksAtOnce: tasksAtOnce(cut) };
}

it.each([
  { records: 10, most: 8, dealt: 8 },
  { records: 1_000, most: 8, dealt: 3 },
  { records: 2_000, most: 4, dealt: 1 },
])('an answer has room in a frame: of $most tasks of $records files each, $dealt are given', async (known) => {
  Object.assign(state.training, { dataset: manyFiles(64, known.records), service: open(trainingTasks, 64) });
  const reply = await ask({ type: 'getTasks', ...JOB, trainer: 'ann', held: [], most: known.most, maxWaitMs: 0 });
  expect(reply).toMatchObject({ state: 'tasks', tasks: { length: known.dealt } });
  expect(() => encodeFrame({ kind: 'reply', requestId: 1, header: reply, segments: [] })).not.toThrow();
});

describe('a trainer that asks for a task', () => {
  it('gets a repair first, under its own pass and number, then one of training', async () => {
    repairOf(2, 1);
    const repair = await take('ann');
    expect(repair).toEqual({ queue: 'repair', pass: 2, task: 1, attempt: 1, trainer: 'ann' });
    expect(await take('ann', [repair])).toMatchObject({ queue: 'train', pass: 0, task: 0 });
    expect(batch!.queue.isLive(repair)).toBe(true);
  });

  it('keeps what it holds of a queue that has nothing for it', async () => {
    const ref = await take('ann');
    repairOf(0, 0);
    const repair = await take('ann', [ref]);
    expect(repair.queue).toBe('repair');
    const { training } = state as { training: TaskTraining };
    expect(training.service.queue.isLive(ref)).toBe(true);
  });

  it('gets one of evaluation when the passes are over, and may leave when the result is known', async () => {
    await finish(await take('ann'));
    evaluate(4);
    expect(await take('ann')).toMatchObject({ queue: 'evaluate', pass: 4, task: 0 });
    state.isFinished = true;
    const header = { type: 'getTasks' as const, ...JOB, trainer: 'bob', held: [], most: 1, maxWaitMs: 0 };
    expect(await ask(header)).toMatchObject({ state: 'finished' });
  });

  it('waits for the evaluation, and is told as soon as there is one', async () => {
    await finish(await take('ann'));
    const asked = ask({ type: 'getTasks', ...JOB, trainer: 'bob', held: [], most: 1, maxWaitMs: 10_000 });
    expect(await stateOf(asked)).toBe('open');
    evaluate(0);
    state.changed.notify();
    expect(await asked).toMatchObject({ state: 'wait' });
  });
});

describe('a report of several ends', () => {
  const codesOf = (refused: readonly { readonly at: number; readonly error: { readonly code: string } }[]) =>
    refused.map(({ at, error }) => [at, error.code]);

  it('is refused end by end: what is right of it counts', async () => {
    const ref = await take('ann');
    const { refused } = await finishAll([
      [{ ...ref, attempt: 7 }, {}],
      [ref, {}],
      [ref, { records: 5 }],
    ]);
    expect(codesOf(refused)).toEqual([
      [0, 'AttemptNotLive'],
      [2, 'WrongCounts'],
    ]);
    const { training } = state as { training: TaskTraining };
    expect(training.service.queue.counts()).toMatchObject({ phase: 'ended' });
  });

  it('is refused as a whole by a master that ends: another one is asked the same', async () => {
    const ref = await take('ann');
    const { training } = state as { training: TaskTraining };
    training.service.close();
    await expect(finish(ref)).rejects.toMatchObject({ code: 'NotReady' });
    const [first] = await Promise.allSettled([finishAll([[ref, {}]])]);
    expect(first.status).toBe('rejected');
  });
});

describe('a report', () => {
  it('of a task that was trained in one queue and is in another now does not end the other', async () => {
    const ref = await take('ann');
    repairOf(0, 0);
    const repair = await take('ann', [ref]);
    expect({ ...repair, queue: 'train' }).toEqual(ref);
    await finish(ref);
    expect(batch!.queue.isLive(repair)).toBe(true);
    await finish(repair);
    expect(batch!.queue.counts()).toMatchObject({ done: 1 });
  });

  it('to repairs that are over is refused', async () => {
    repairOf(0, 0);
    const repair = await take('ann');
    batch = undefined;
    await expect(finish(repair)).rejects.toMatchObject({ code: 'AttemptNotLive' });
    expect(await progress(repair)).toMatchObject({ live: false });
  });

  it('to an evaluation that is over is refused', async () => {
    await finish(await take('ann'));
    evaluate(0);
    const ref = await take('ann');
    state.evaluation = undefined;
    await expect(finishEvaluation(ref, 0)).rejects.toMatchObject({ code: 'AttemptNotLive' });
  });

  it('of an earlier evaluation is refused, and its scores are not taken for those of the one that runs', async () => {
    await finish(await take('ann'));
    evaluate(0);
    const late = await take('ann');
    evaluate(1);
    const ref = await take('ann');
    expect(ref).toEqual({ ...late, pass: 1 });
    expect(await progress(late)).toMatchObject({ live: false });
    await finishEvaluation(ref, 0.5);
    const before = allAtOnce(state.evaluation!.results.finish());
    await expect(finishEvaluation(late, 0.25)).rejects.toMatchObject({ code: 'AttemptNotLive' });
    expect(allAtOnce(state.evaluation!.results.finish())).toEqual(before);
  });

  it('is refused with a label that a binary job cannot have', async () => {
    await finish(await take('ann'));
    evaluate(0);
    const ref = await take('ann');
    for (const label of [2, -1, 0.5, 3e38]) {
      const segments = [floats(0.5), floats(label), NONE, NONE];
      const message = expect.stringContaining('expected a label of 0 or 1, got ');
      await expect(finishEvaluation(ref, 0.5, {}, segments)).rejects.toMatchObject({ code: 'BadMessage', message });
    }
    await finishEvaluation(ref, 0.5, {}, [floats(0.5), floats(0), NONE, NONE]);
  });

  it('ends a task by the message of its queue only', async () => {
    const ref = await take('ann');
    await expect(finishEvaluation(ref, 0)).rejects.toMatchObject({ code: 'BadMessage' });
    await expect(finish({ ...ref, queue: 'evaluate' })).rejects.toMatchObject({ code: 'BadMessage' });
  });

  it('of a failure or a return goes to its own queue', async () => {
    repairOf(0, 0);
    const repair = await take('ann');
    await ask({ type: 'returnTask', ...JOB, ...repair, read: 0 });
    expect(batch!.queue.counts()).toMatchObject({ todo: 1 });
    const again = await take('ann');
    await ask({ type: 'failTask', ...JOB, ...again, code: 'DataInvalid', error: 'x', data: true, read: 0 });
    expect(batch!.queue.counts()).toMatchObject({ todo: 1 });
    const { training } = state as { training: TaskTraining };
    expect(training.service.queue.counts()).toMatchObject({ todo: 1, pending: 0 });
  });

  it('of progress starts the clock of its own task only', async () => {
    const ref = await take('ann');
    repairOf(0, 0);
    const repair = await take('ann', [ref]);
    expect(await progress(repair)).toMatchObject({ live: true });
    const { training } = state as { training: TaskTraining };
    expect(training.service.queue.attempts()).toMatchObject([{ executing: false }]);
    expect(batch!.queue.attempts()).toMatchObject([{ executing: true }]);
  });
});

describe('counts of a report', () => {
  const metricsOf = (change: object) => ({ metrics: { ...oneRecord, ...change } });
  it.each<[string, Partial<typeof COUNTS>]>([
    ['more good records than the task has', { good: 1_000_000_000 }],
    ['fewer records than the task has', { good: 0 }],
    ['more bad records than a task may have', { good: 0, bad: 1 }],
    ['another number of records', { records: 2 }],
    ['more read than any attempt reads', { read: Number.MAX_SAFE_INTEGER }],
    ['more duplicates than any attempt pushes', { duplicate: Number.MAX_SAFE_INTEGER }],
    ['metrics of more records than any attempt computes', metricsOf({ records: 1_000_000_000 })],
    ['a larger weight of correct records than of all', metricsOf({ correct: 2 })],
    ['a weight of correct records below 0', metricsOf({ correct: -1 })],
    ['a loss that is no number when it is divided', metricsOf({ weight: 1e-300, loss: 1e100 })],
    ['squared errors below 0', metricsOf({ squaredError: -1 })],
    ['weights that overflow when they are added up', metricsOf({ weight: 1e308 })],
    ['a loss that overflows when it is added up', metricsOf({ loss: 1e308 })],
    ['squared errors that do', metricsOf({ squaredError: 1e308 })],
  ])('%s: the report is refused, and the task stays', async (_, counts) => {
    const ref = await take('ann');
    await expect(finish(ref, counts)).rejects.toMatchObject({
      code: 'WrongCounts',
      message: expect.stringMatching(/^attempt 1 of task 0 in pass 0 \(train\) by ann: /),
    });
    const { training } = state as { training: TaskTraining };
    expect(training.service.queue.isLive(ref)).toBe(true);
    await finish(ref);
  });

  it('of a failure or a return are bounded by the task', async () => {
    const ref = await take('ann');
    const read = Number.MAX_SAFE_INTEGER;
    const failed = { type: 'failTask' as const, ...JOB, ...ref, code: 'DataInvalid', error: 'x', data: true, read };
    await expect(ask(failed)).rejects.toMatchObject({ code: 'WrongCounts' });
    await expect(ask({ type: 'returnTask', ...JOB, ...ref, read })).rejects.toMatchObject({ code: 'WrongCounts' });
  });

  it.each(['StoreReplaced', 'Usage', 'Internal', 'LeaseGone', 'nonsense'])(
    'of a failure by records that is %s are refused, and the attempt goes on',
    async (code) => {
      const ref = await take('ann');
      const failed = { type: 'failTask' as const, ...JOB, ...ref, code, error: 'x', data: true, read: 0 };
      await expect(ask(failed)).rejects.toMatchObject({ code: 'BadMessage' });
      await finish(ref);
    },
  );

  it('of an evaluation are those of the task, and its scores are numbers', async () => {
    await finish(await take('ann'));
    evaluate(0);
    const ref = await take('ann');
    const refused = { code: 'WrongCounts', message: expect.stringMatching(/\(evaluate\) by ann: /) };
    await expect(finishEvaluation(ref, 0, { bad: 1 })).rejects.toMatchObject(refused);
    await expect(finishEvaluation(ref, 0, { metrics: noMetrics, bad: 1 })).rejects.toMatchObject(refused);
    await expect(finishEvaluation(ref, Number.NaN)).rejects.toMatchObject({ code: 'BadMessage' });
    await finishEvaluation(ref, 0.5);
    expect(allAtOnce(state.evaluation!.results.finish()).records).toBe(1);
  });

  it('of an evaluation come with a weight and a group of each record, or with none', async () => {
    await finish(await take('ann'));
    evaluate(0);
    const ref = await take('ann');
    const metrics = { ...oneRecord, weight: 1.5 };
    const send = (...more: Uint8Array[]) => finishEvaluation(ref, 0.5, { metrics }, [floats(0.5), floats(1), ...more]);
    const group = new Uint8Array(8);
    for (const [what, segments] of [
      ['four segments', []],
      ['a whole number of f32', [new Uint8Array(3), NONE]],
      ['1 labels, 2 weights', [Buffer.concat([floats(1), floats(1)]), NONE]],
      ['and 1.5 groups for 1', [NONE, new Uint8Array(12)]],
      ['expected weights of at least 0', [floats(-1), NONE]],
      ['is not a finite number', [floats(Number.POSITIVE_INFINITY), NONE]],
      ['expected weight 1 for 1 records without weights, got 1.5', [NONE, NONE]],
    ] as const) {
      const refused = { code: 'BadMessage', message: expect.stringContaining(what) };
      await expect(send(...segments)).rejects.toMatchObject(refused);
    }
    await send(floats(1.5), group);
    expect(allAtOnce(state.evaluation!.results.finish()).records).toBe(1);
  });
});

describe('a job in sync mode', () => {
  it('has no queue of training', async () => {
    const ref = await take('ann');
    state = { ...state, training: { mode: 'sync' } as never };
    await expect(finish(ref)).rejects.toMatchObject({ code: 'BadMessage' });
    const returned = ask({ type: 'returnTask', ...JOB, ...ref, read: 0 });
    await expect(returned).rejects.toMatchObject({ code: 'BadMessage' });
  });
});

it('refuses the end of a task that was acknowledged before a pserver was restored', async () => {
  const ref = await take('ann');
  state = { ...state, training: { ...state.training, recovery: () => 1 } as TaskTraining };
  await expect(finish(ref, { recovery: 0 })).rejects.toMatchObject({ code: 'StaleRecovery' });
  expect(await finish(ref, { recovery: 1 })).toMatchObject({ type: 'finishTasks' });
});
