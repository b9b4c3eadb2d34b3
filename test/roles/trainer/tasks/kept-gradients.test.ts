/** The gradients of a push stay what they were until it is answered, though the model computes in the same memory. */

import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { ParameterClient, Pulled } from '../../../../src/cluster/client/parameter-client.ts';
import { Turns } from '../../../../src/cluster/waiting.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';
import type { Batch } from '../../../../src/model/model.ts';
import { createModel } from '../../../../src/model/registry.ts';
import { GradientCheck } from '../../../../src/roles/trainer/compute/gradient-check.ts';
import { PullQueue } from '../../../../src/roles/trainer/tasks/pull-queue.ts';
import { beginProgress, TaskTraining } from '../../../../src/roles/trainer/tasks/train-task.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { randomValues } from '../../../model/batches.ts';
import { referenceModel } from '../../../model/reference.ts';
import { FakeClock } from '../../../store/support.ts';

const RECORDS = 12;
const SPEC = { type: 'fm', factors: 3, task: 'regression' } as const;
const FACTS = { inputWidth: 1, classes: 2, fields: 1, seed: 1 };

/** Records of one feature, all of the same id; labels tell batches apart. */
function batchOf(from: number, to: number): Batch {
  const records = to - from;
  const input = {
    offsets: Uint32Array.from({ length: records + 1 }, (_, record) => record),
    rows: new Uint32Array(records),
    values: undefined,
    ids: new Uint8Array(8).fill(7),
    count: 1,
  };
  const labels = Float32Array.from({ length: records }, (_, record) => from + record);
  return { records, labels, sparse: [input], dense: [] };
}

const TASK: TaskRecords = {
  records: RECORDS,
  bad: [],
  batch: batchOf,
  pick: () => {
    throw new Error('this task is not shuffled');
  },
  goodBefore: (position) => position,
  describe: (from, to) => `${from} to ${to}`,
};

const VALUES = randomValues(createModel(SPEC, FACTS), 1, 3);

type Client = Pick<ParameterClient, 'pullToTrain' | 'recycle' | 'push'>;

const PULLED = { values: VALUES, versions: new Map() } as unknown as Pulled;
const ACKNOWLEDGED = { duplicate: false, recovery: 0, pulled: undefined };

const clientWith = (part: Pick<Client, 'push'> & Partial<Client>): Client => ({
  pullToTrain: async () => PULLED,
  recycle: () => {},
  ...part,
});

interface Every {
  readonly pushEvery: number;
  readonly pullEvery: number;
  readonly pullAhead: number;
}

async function train(client: Client, every: Every, model = createModel(SPEC, FACTS)) {
  const activity = { enter: () => {}, position: () => {}, trained: () => {} };
  const router = createIdRouter({ shards: 8 });
  const { signal } = new AbortController();
  const pulls = new PullQueue({ client, id: 'trainer', ahead: every.pullAhead });
  const gradientCheck = new GradientCheck({ onBadGradient: 'fail' }, { warn: () => {} }, []);
  const options = {
    model,
    client,
    router,
    activity,
    signal,
    pulls,
    turns: new Turns(new FakeClock()),
    gradientCheck,
    batchSize: 2,
    gated: false,
    ...every,
  };
  const training = new TaskTraining(options, beginProgress({ pass: 0, task: 0 }, TASK, 0), 0, 'last');
  await training.run();
  await training.settled();
}

describe('the gradients of a push', () => {
  test.each([
    { pushEvery: 1, pullEvery: 1, pullAhead: 0 },
    { pushEvery: 1, pullEvery: 1, pullAhead: 3 },
    { pushEvery: 1, pullEvery: 3, pullAhead: 1 },
    { pushEvery: 2, pullEvery: 1, pullAhead: 2 },
    { pushEvery: 3, pullEvery: 2, pullAhead: 2 },
  ])('are those of its batches until it is answered: %j', async (every) => {
    const plain = referenceModel(SPEC, FACTS);
    let pushes = 0;
    const client = clientWith({
      async push({ push }, { dense, sparse }) {
        const size = 2 * every.pushEvery;
        const batch = TASK.batch(push * size, Math.min(RECORDS, (push + 1) * size));
        const expected = plain.step(batch, VALUES);
        for (let turn = 0; turn < 20; turn++) {
          await setImmediate();
          [...dense, ...sparse].forEach((gradient, at) => {
            const wanted = [...expected.dense, ...expected.sparse][at]!;
            expect([...gradient]).toEqual([...wanted].map((value) => expect.closeTo(value, 4)));
          });
        }
        pushes += 1;
        return ACKNOWLEDGED;
      },
    });
    await train(client, every);
    expect(pushes).toBe(RECORDS / 2 / every.pushEvery);
  });

  test('a task that fails ends when its push is answered: it does not meet its own stragglers when it is tried again', async () => {
    const answer = Promise.withResolvers<typeof ACKNOWLEDGED>();
    let pulls = 0;
    const client = clientWith({
      push: () => answer.promise,
      async pullToTrain() {
        pulls += 1;
        if (pulls > 1) throw new Error('the pull failed');
        return PULLED;
      },
    });
    let ended = false;
    const training = train(client, { pushEvery: 1, pullEvery: 1, pullAhead: 1 }).finally(() => {
      ended = true;
    });
    training.catch(() => {});
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect([pulls, ended]).toEqual([2, false]);
    answer.resolve(ACKNOWLEDGED);
    await expect(training).rejects.toThrow('the pull failed');
  });

  test.each([1, 2])('leave the memory of the model however the push ends, with pushEvery %i', async (pushEvery) => {
    const model = createModel(SPEC, FACTS);
    const every = { pushEvery, pullEvery: 1, pullAhead: 1 };
    const used = (): number => model.memory!.heap.kernels.allocatedBytes();
    await train(clientWith({ push: async () => ACKNOWLEDGED }), every, model);
    const before = used();
    const refused = clientWith({
      push: async ({ push }) => {
        if (push === 1) throw new Error('refused');
        return ACKNOWLEDGED;
      },
    });
    await expect(train(refused, every, model)).rejects.toThrow('refused');
    let pulls = 0;
    const pullsFail = clientWith({
      push: async () => ACKNOWLEDGED,
      async pullToTrain() {
        pulls += 1;
        if (pulls === 4) throw new Error('the pull failed');
        return PULLED;
      },
    });
    await expect(train(pullsFail, every, model)).rejects.toThrow('the pull failed');
    expect(used()).toBe(before);
  });
});
