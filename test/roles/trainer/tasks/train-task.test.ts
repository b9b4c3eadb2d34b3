/** Which records each push of a task has: the test vectors of docs/client.md, and from any push on. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../../src/base/seams.ts';
import type { Pulled, PushHeader } from '../../../../src/cluster/client/parameter-client.ts';
import { Turns } from '../../../../src/cluster/waiting.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';
import { createLinear } from '../../../../src/model/lr.ts';
import type { Model } from '../../../../src/model/model.ts';
import { GradientCheck } from '../../../../src/roles/trainer/compute/gradient-check.ts';
import { PullQueue } from '../../../../src/roles/trainer/tasks/pull-queue.ts';
import { beginProgress, TaskTraining } from '../../../../src/roles/trainer/tasks/train-task.ts';
import { createIdRouter, NO_IDS } from '../../../../src/tensor/id-router.ts';
import { FakeClock } from '../../../store/support.ts';
import { VECTORS } from '../../../vectors/make-vectors.ts';

interface PushCase {
  readonly records: number;
  readonly batchSize: number;
  readonly pushEvery: number;
  readonly pushes: readonly (readonly [number, number])[][];
}

const cases = JSON.parse(readFileSync(join(VECTORS, 'pushes.json'), 'utf8')) as PushCase[];

interface Sent {
  readonly push: number;
  readonly last: boolean;
  readonly good: number;
  /** [from, to) of each batch. */
  readonly batches: readonly (readonly [number, number])[];
}

const PULLED = {
  values: { dense: [new Float32Array(1)], sparse: [new Float32Array(0)] },
  versions: new Map(),
} as unknown as Pulled;

interface Told {
  readonly pullEvery: number;
  /** Gets the place of each step. */
  readonly places: unknown[];
  readonly clock?: Clock;
}

/** Trains a task whose records have no features, from push `next`, and tells what was sent. */
async function sentBy(
  { records, batchSize, pushEvery }: PushCase,
  next: number,
  pullAhead: number,
  { pullEvery, places, clock = new FakeClock() }: Told = { pullEvery: 1, places: [] },
): Promise<Sent[]> {
  const sent: Sent[] = [];
  /** Cut, and not pushed yet. */
  const batches: [number, number][] = [];
  const task: TaskRecords = {
    records,
    bad: [],
    batch(from, to) {
      batches.push([from, to]);
      const count = to - from;
      const offsets = new Uint32Array(count + 1);
      const input = { offsets, rows: new Uint32Array(0), values: new Float32Array(0), ...NO_IDS };
      return { records: count, labels: new Float32Array(count), sparse: [input], dense: [] };
    },
    pick: () => {
      throw new Error('this task is not shuffled');
    },
    goodBefore: (position) => position,
    describe: (from, to) => `${from} to ${to}`,
  };
  const push = async ({ push: number, last, good }: PushHeader) => {
    sent.push({ push: number, last, good, batches: batches.splice(0, pushEvery) });
    return { duplicate: false, recovery: 0, pulled: undefined };
  };
  const client = { pullToTrain: () => Promise.resolve(PULLED), recycle: () => {}, push };
  const activity = { enter: () => {}, position: () => {}, trained: () => {} };
  const { signal } = new AbortController();
  const linear = createLinear();
  const model: Model = {
    ...linear,
    step(batch, values, place) {
      places.push(place);
      return linear.step(batch, values);
    },
  };
  const turns = new Turns(clock);
  const pulls = new PullQueue({ client, id: 'trainer', ahead: pullAhead });
  const training = new TaskTraining(
    {
      ...{ model, client, router: createIdRouter({ shards: 8 }), activity, signal, pulls, pullAhead, turns },
      ...{ batchSize, pushEvery, pullEvery, gated: false },
      gradientCheck: new GradientCheck({ onBadGradient: 'fail' }, { warn: () => {} }, []),
    },
    beginProgress({ pass: 3, task: 8 }, task, 0),
    next,
    'last',
  );
  await training.run();
  await training.settled();
  return sent;
}

describe('the pushes of a task', () => {
  test.each(cases)('$records records, batches of $batchSize, $pushEvery a push', async (one) => {
    const expected = one.pushes.map((batches, push) => {
      const good = batches.at(-1)![1];
      return { push, last: push === one.pushes.length - 1, good, batches };
    });
    for (const pullAhead of [0, 1, 5]) {
      for (let from = 0; from < expected.length; from++)
        expect(await sentBy(one, from, pullAhead)).toEqual(expected.slice(from));
    }
  });
});

test.each([1, 3])('each mini-batch is told its place, with %d of them a pull', async (pullEvery) => {
  const places: unknown[] = [];
  await sentBy({ records: 18, batchSize: 4, pushEvery: 1, pushes: [] }, 1, 0, { pullEvery, places });
  expect(places).toEqual([1, 2, 3, 4].map((batch) => ({ pass: 3, task: 8, batch })));
});

test('long steps follow each other with a turn for whatever else is due, short ones without', async () => {
  /** Each step takes that long; what else is due has its turn when the trainer pauses. */
  const turnsOf = async (stepMs: number): Promise<number> => {
    let nowMs = 0;
    let turns = 0;
    const clock: Clock = {
      monotonicMs: () => nowMs,
      wallSeconds: () => 0,
      after: (_delayMs, run) => {
        turns += 1;
        queueMicrotask(run);
        return () => {};
      },
    };
    const places = { push: () => (nowMs += stepMs) } as unknown as unknown[];
    await sentBy({ records: 20, batchSize: 2, pushEvery: 5, pushes: [] }, 0, 4, { pullEvery: 5, places, clock });
    return turns;
  };
  expect(await turnsOf(300)).toBe(9);
  expect(await turnsOf(10)).toBe(0);
});
