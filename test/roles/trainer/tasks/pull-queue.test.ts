/** Which pulls are made when, and which a push takes along. */
import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { Pulled } from '../../../../src/cluster/client/parameter-client.ts';
import type { PulledValues } from '../../../../src/model/model.ts';
import type { BatchGroup } from '../../../../src/roles/trainer/tasks/batch-groups.ts';
import { PullQueue, type PullSource } from '../../../../src/roles/trainer/tasks/pull-queue.ts';
import type { IdList } from '../../../../src/tensor/id-router.ts';

/** By their ids: `a0` is the first group of task a. */
let pulling: Map<string, PromiseWithResolvers<Pulled>>;
let recycled: string[];

beforeEach(() => {
  pulling = new Map();
  recycled = [];
});

const nameOf = ([list]: readonly IdList[]): string => Buffer.from(list!.ids).toString();
const groupOf = (task: string, first: number): BatchGroup => {
  const ids = [{ ids: Buffer.from(`${task}${first}`), count: 1 }];
  return { first, batches: [], union: { ids, positions: [undefined] }, pushes: 1 };
};
const valuesOf = (name: string) => ({ values: name, versions: new Map() }) as unknown as Pulled;

function queueOf(ahead: number): PullQueue {
  const client = {
    pullToTrain(ids: readonly IdList[]) {
      const answer = Promise.withResolvers<Pulled>();
      pulling.set(nameOf(ids), answer);
      return answer.promise;
    },
    recycle: (values: PulledValues) => void recycled.push(values as unknown as string),
  };
  return new PullQueue({ client, id: 'trainer', ahead });
}

function open(queue: PullQueue, task: string, groups: number, where: 'first' | 'last' = 'last'): PullSource {
  const all = Array.from({ length: groups }, (_, first) => groupOf(task, first));
  const source = { groups: all.values(), holding: () => undefined, signal: new AbortController().signal };
  return queue.open(source, where);
}

const arrive = (name: string): void => pulling.get(name)!.resolve(valuesOf(name));
const pulled = (): string[] => [...pulling.keys()];
const turn = (): Promise<void> => new Promise(setImmediate);

/** The next group of the source, whose values have come or come by a pull now. */
async function take(source: PullSource): Promise<string | undefined> {
  const taking = source.take();
  await turn();
  for (const [name, answer] of pulling) answer.resolve(valuesOf(name));
  const next = await taking;
  return next && nameOf(next.group.union.ids);
}

describe('nothing ahead', () => {
  it('each group is pulled when it is wanted, or comes with the push before it', async () => {
    const queue = queueOf(0);
    const source = open(queue, 'a', 3);
    expect(pulled()).toEqual([]);
    expect(await take(source)).toBe('a0');
    expect(pulled()).toEqual(['a0']);
    const along = queue.takeAlong()!;
    expect(queue.takeAlong()).toBeUndefined();
    along.arrived(valuesOf('a1'));
    expect(await take(source)).toBe('a1');
    expect(pulled()).toEqual(['a0']);
    expect(await take(source)).toBe('a2');
    expect(pulled()).toEqual(['a0', 'a2']);
    expect(await take(source)).toBeUndefined();
  });
});

describe('two ahead', () => {
  it('three are pulled at first; then each push takes one along', async () => {
    const queue = queueOf(2);
    const source = open(queue, 'a', 9);
    expect(await take(source)).toBe('a0');
    expect(pulled()).toEqual(['a0', 'a1', 'a2']);
    queue.takeAlong()!.arrived(valuesOf('a3'));
    expect(queue.takeAlong()).toBeUndefined();
    expect(await take(source)).toBe('a1');
    expect(pulled()).toEqual(['a0', 'a1', 'a2']);
  });

  it('what no push takes along is pulled by itself', async () => {
    const source = open(queueOf(2), 'a', 9);
    await take(source);
    await take(source);
    expect(pulled()).toEqual(['a0', 'a1', 'a2', 'a3']);
  });

  it('at the end of a task those of the next one are pulled', async () => {
    const queue = queueOf(2);
    const [source, next] = [open(queue, 'a', 2), open(queue, 'b', 9)];
    await take(source);
    expect(pulled()).toEqual(['a0', 'a1', 'b0']);
    expect(queue.takeAlong()!.group).toMatchObject(groupOf('b', 1));
    await take(source);
    expect(await take(next)).toBe('b0');
  });

  it('a task that is done once more does not wait behind the next one', async () => {
    const queue = queueOf(2);
    const next = open(queue, 'b', 9);
    await take(next);
    expect(pulled()).toEqual(['b0', 'b1', 'b2']);
    const again = open(queue, 'a', 2, 'first');
    expect(await take(again)).toBe('a0');
    expect(queue.takeAlong()!.group).toMatchObject(groupOf('a', 1));
  });

  it('a pull whose push is not answered is made by itself', async () => {
    const queue = queueOf(0);
    const source = open(queue, 'a', 2);
    await take(source);
    queue.takeAlong()!.failed();
    expect(await take(source)).toBe('a1');
    expect(pulled()).toEqual(['a0', 'a1']);
  });

  it('what comes for a task that is given up is not kept', async () => {
    const queue = queueOf(2);
    const source = open(queue, 'a', 9);
    await take(source);
    const along = queue.takeAlong()!;
    source.close();
    along.arrived(valuesOf('a3'));
    await turn();
    expect(recycled).toEqual(['a1', 'a2', 'a3']);
    expect(queue.takeAlong()).toBeUndefined();
  });

  it('a pull that fails is seen where its values are wanted', async () => {
    const queue = queueOf(1);
    const source = open(queue, 'a', 9);
    const taking = source.take();
    arrive('a0');
    pulling.get('a1')!.reject(new PaddletError('Interrupted', 'stopped'));
    await taking;
    await expect(source.take()).rejects.toMatchObject({ code: 'Interrupted' });
  });
});

describe('a task that is done once more', () => {
  it('pulls nothing before its turn', async () => {
    const queue = queueOf(2);
    const running = open(queue, 'b', 9);
    await take(running);
    const again = open(queue, 'a', 9, 'first');
    for (let group = 1; group < 4; group++) await take(running);
    expect(pulled().filter((name) => name.startsWith('a'))).toEqual([]);
    expect([await take(again), await take(again)]).toEqual(['a0', 'a1']);
  });
});

describe('a group that cannot be made', () => {
  it('fails the task that it is of, not the one before it, and is not taken for the end', async () => {
    const queue = queueOf(1);
    const before = open(queue, 'a', 1);
    // biome-ignore lint/correctness/useYield: it fails first
    function* failing(): Generator<BatchGroup> {
      throw new PaddletError('OutOfMemory', 'no room for its ids');
    }
    const signal = new AbortController().signal;
    const after = queue.open({ groups: failing(), holding: () => undefined, signal }, 'last');
    expect(await take(before)).toBe('a0');
    await expect(after.take()).rejects.toMatchObject({ code: 'OutOfMemory' });
    await expect(after.take()).rejects.toMatchObject({ code: 'OutOfMemory' });
  });
});
