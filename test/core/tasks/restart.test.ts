/** What a master that takes over finds: everything that was answered, from a few small values (docs/design.md §4). */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { AttemptRef } from '../../../src/core/tasks/address.ts';
import type { QueueEvent } from '../../../src/core/tasks/events.ts';
import { createTaskQueue } from '../../../src/core/tasks/queue.ts';
import {
  BLOCK_TASKS,
  noSums,
  type QueueChange,
  type SavedQueue,
  type TaskBlock,
} from '../../../src/core/tasks/state.ts';
import { configOf, QueueRig, refused, sumsOf } from './queue-rig.ts';

describe('a master that takes over', () => {
  it('finds done, pending and discarded tasks, sums and passes as they were', () => {
    const rig = new QueueRig({ tasks: 600, passes: 2, maxFailures: 0, maxDiscarded: 1 });
    rig.joined('ann', 'bob');
    for (let i = 0; i < 599; i++) rig.finish(rig.take('ann'));
    rig.fail(rig.take('ann'));
    rig.finish(rig.take('ann'));
    const anns = rig.take('ann');
    const bobs = rig.take('bob');
    const before = {
      counts: rig.queue.counts(),
      totals: rig.queue.totals(),
      discarded: rig.queue.discarded(),
    };
    expect(before.counts).toMatchObject({ pass: 1, done: 1, pending: 2, discarded: 1, todo: 596 });
    rig.restart('ann', 'bob');
    expect(rig.live()).toEqual([anns, bobs]);
    expect({
      counts: rig.queue.counts(),
      totals: rig.queue.totals(),
      discarded: rig.queue.discarded(),
    }).toEqual(before);
    expect(rig.finish(anns)).toBe('accept');
  });

  it('counts no failure for its predecessor', () => {
    const rig = new QueueRig({ tasks: 1, maxFailures: 0 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.progress(ref, 0);
    rig.restart();
    expect(rig.of('requeued').map(({ task }) => task)).toEqual([ref.task]);
    expect(rig.of('discarded')).toEqual([]);
    rig.joined('bob');
    expect(rig.take('bob')).toEqual({ ...ref, trainer: 'bob', attempt: 2 });
  });

  it('remembers failures that were counted', () => {
    const rig = new QueueRig({ tasks: 1, maxFailures: 1 });
    rig.joined('ann');
    rig.fail(rig.take('ann'));
    rig.restart('ann');
    rig.fail(rig.take('ann'));
    expect(rig.of('discarded')).toHaveLength(1);
  });

  it('does not give the number of an attempt twice', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann');
    const numbers = [];
    for (let i = 0; i < 4; i++) {
      const ref = rig.take('ann');
      numbers.push(ref.attempt);
      rig.handBack(ref);
      rig.restart('ann');
    }
    expect(numbers).toEqual([1, 2, 3, 4]);
  });

  it('gives the trainers that it finds working time from now on', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.progress(ref, 0);
    rig.now = 900;
    rig.restart('ann');
    expect(rig.queue.nextDeadline()).toBeUndefined();
    rig.progress(ref, 0);
    expect(rig.queue.nextDeadline()).toBe(1_900);
  });

  it('ends the pass that was only waiting to end', () => {
    const rig = new QueueRig({ tasks: 1, passes: 2, maxFailures: 0, maxDiscarded: 1 });
    const state = { phase: 'train', pass: 0 } as const;
    const done = { done: '01', open: {}, sums: sumsOf(10) };
    const saved: SavedQueue = { state, blocks: new Map([[0, done]]), totals: new Map(), discarded: [] };
    rig.queue = createTaskQueue(rig.config, saved, 0);
    rig.step({ type: 'roster', trainers: [] });
    expect(rig.of('passEnded').map(({ totals }) => totals.sums)).toEqual([sumsOf(10)]);
    expect(rig.queue.counts()).toMatchObject({ pass: 1, todo: 1 });
  });

  it('fails the job that its predecessor had not got to fail', () => {
    const rig = new QueueRig({ tasks: 2, maxFailures: 0, maxDiscarded: 0 });
    rig.joined('ann');
    rig.fail(rig.take('ann'));
    expect(rig.of('failed')).toHaveLength(1);
    rig.log.length = 0;
    rig.restart('ann');
    expect(rig.of('failed')).toHaveLength(1);
    expect(rig.get('ann')).toBe('waiting');
  });

  it('of a job whose passes are over has nothing to deal and says none', () => {
    const rig = new QueueRig({ tasks: 3, passes: 2 });
    rig.finishAll();
    const before = rig.queue.counts();
    const totals = rig.queue.totals();
    rig.log.length = 0;
    rig.restart('ann');
    expect(rig.queue.counts()).toEqual(before);
    expect(rig.queue.totals()).toEqual(totals);
    expect(rig.get('ann')).toBe('none');
    expect(rig.of('ended')).toEqual([]);
    expect(rig.queue.isDone(1, 2)).toBe(true);
  });

  it('believes a discard that was saved without the block that it is in', () => {
    const rig = new QueueRig({ tasks: 2, maxFailures: 0, maxDiscarded: 2 });
    rig.joined('ann');
    const ref = rig.take('ann');
    const before = rig.saved.load();
    rig.fail(ref);
    const torn = { ...before, discarded: rig.saved.load().discarded };
    rig.queue = createTaskQueue(rig.config, torn, 0);
    expect(rig.queue.counts()).toMatchObject({ discarded: 1, todo: 1, pending: 0 });
    expect(rig.live()).toEqual([]);
  });

  it('does not believe a discard of a pass that has not begun', () => {
    const rig = new QueueRig({ tasks: 2, passes: 2, maxFailures: 0, maxDiscarded: 2 });
    rig.joined('ann');
    rig.finish(rig.take('ann'));
    const before = rig.saved.load();
    rig.finish(rig.take('ann'));
    rig.fail(rig.take('ann'));
    const torn = { ...before, discarded: rig.saved.load().discarded };
    expect(torn.discarded[0]?.pass).toBe(1);
    rig.queue = createTaskQueue(rig.config, torn, 0);
    expect(rig.queue.counts()).toMatchObject({ pass: 0, done: 1, todo: 1, discarded: 0 });
  });
});

describe('several live attempts of one task', () => {
  const twice = (): QueueRig => {
    const rig = new QueueRig({ tasks: 1, maxFailures: 0, maxDiscarded: 1 });
    const attempts = [
      { attempt: 1, trainer: 'ann' },
      { attempt: 2, trainer: 'bob' },
    ];
    const block = { done: '00', open: { 0: { last: 2, failures: 0, attempts } }, sums: noSums() };
    const state = { phase: 'train', pass: 0 } as const;
    rig.queue = createTaskQueue(
      rig.config,
      { state, blocks: new Map([[0, block]]), totals: new Map(), discarded: [] },
      0,
    );
    rig.step({ type: 'roster', trainers: ['ann', 'bob'] });
    return rig;
  };
  const ref = (trainer: string, attempt: number) => ({ queue: 'train' as const, pass: 0, task: 0, attempt, trainer });

  it('the task goes back when the last one ends', () => {
    const rig = twice();
    rig.gone('ann');
    expect(rig.queue.counts()).toMatchObject({ pending: 1, todo: 0 });
    rig.gone('bob');
    expect(rig.queue.counts()).toMatchObject({ pending: 0, todo: 1 });
  });

  it('the first to finish wins, the other is refused', () => {
    const rig = twice();
    expect(rig.finish(ref('bob', 2))).toBe('accept');
    expect(rig.finish(ref('ann', 1))).toEqual(refused('PassBefore'));
  });

  it('one that is discarded takes the other with it, also in the same tick', () => {
    const rig = twice();
    rig.progress(ref('ann', 1), 0);
    rig.progress(ref('bob', 2), 0);
    rig.pass(1_000);
    expect(rig.of('discarded')).toHaveLength(1);
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', discarded: 1 });
  });
});

describe('what is saved', () => {
  const TASKS = 4_000;

  it('is one small value a transition and a few a change of pass, of 4,000 tasks too', () => {
    const config = configOf({ tasks: TASKS, passes: 2, maxFailures: 0, maxDiscarded: 1 });
    const queue = createTaskQueue(config, undefined, 0);
    let latest: readonly QueueChange[] = [];
    const blocks = new Map<number, TaskBlock>();
    const step = (event: QueueEvent): AttemptRef | undefined => {
      const effects = queue.step(event, 0);
      latest = effects[0]?.type === 'save' ? effects[0].changes : [];
      for (const change of latest)
        if (change.kind === 'block' && change.pass === 1) blocks.set(change.block, change.value);
      return effects.find((effect) => effect.type === 'deal')?.attempt;
    };
    const kinds = (): string[] => latest.map(({ kind }) => kind);
    const take = (): AttemptRef => step({ type: 'get', trainer: 'ann', held: [], most: 1, request: 1 })!;
    const finish = (ref: AttemptRef): unknown => step({ type: 'finish', ...ref, sums: sumsOf(10), request: 2 });
    step({ type: 'joined', trainer: 'ann' });
    const first = take();
    expect(kinds()).toEqual(['block']);
    step({ type: 'progress', trainer: 'ann', executing: { ...first, position: 1 }, phase: 'compute' });
    expect(kinds()).toEqual([]);
    finish(first);
    expect(kinds()).toEqual(['block']);
    step({ type: 'fail', ...take(), code: 'X', error: 'poison', data: true, read: 0, request: 3 });
    expect(kinds()).toEqual(['discarded', 'block']);
    let most = 0;
    for (let i = 2; i < TASKS - 1; i++) {
      const ref = take();
      most = Math.max(most, latest.length);
      finish(ref);
      most = Math.max(most, latest.length);
    }
    expect(most).toBe(1);
    finish(take());
    expect(kinds()).toEqual(['totals', 'state', 'dropBlocks']);
    expect(take().pass).toBe(1);
    const { ended } = queue.totals();
    expect(ended.map(({ done, discarded }) => [done, discarded])).toEqual([[TASKS - 1, 1]]);

    const state = { phase: 'train', pass: 1 } as const;
    const saved: SavedQueue = { state, blocks, totals: new Map([[0, ended[0]!]]), discarded: queue.discarded() };
    const restored = createTaskQueue(config, saved, 0);
    restored.step({ type: 'roster', trainers: ['ann'] }, 0);
    expect(restored.counts()).toEqual(queue.counts());
    expect(restored.counts()).toMatchObject({ pass: 1, pending: 1, todo: TASKS - 2, discarded: 1 });
  });

  it.each<[string, Partial<SavedQueue>]>([
    ['a block beyond the tasks', { blocks: new Map([[1, { done: '00', open: {}, sums: noSums() }]]) }],
    ['a block without a number', { blocks: new Map([[Number.NaN, { done: '00', open: {}, sums: noSums() }]]) }],
    ['a bitmap of another length', { blocks: new Map([[0, { done: '0000', open: {}, sums: noSums() }]]) }],
    ['a done task beyond the last', { blocks: new Map([[0, { done: '08', open: {}, sums: noSums() }]]) }],
    ['an open task beyond the last', { blocks: openBlock({ 3: { last: 1, failures: 0, attempts: [] } }) }],
    ['a task by a strange number', { blocks: openBlock({ '01': { last: 1, failures: 0, attempts: [] } }) }],
    [
      'a task both done and open',
      { blocks: new Map([[0, { done: '02', open: { 1: { last: 1, failures: 0, attempts: [] } }, sums: noSums() }]]) },
    ],
    [
      'an attempt above the last number',
      { blocks: openBlock({ 1: { last: 1, failures: 0, attempts: [{ attempt: 2, trainer: 'ann' }] } }) },
    ],
    ['a pass beyond the last', { state: { phase: 'train', pass: 2 } }],
    ['an ended pass without totals', { state: { phase: 'train', pass: 1 } }],
    [
      'a discard beyond the tasks',
      { discarded: [{ task: 3, pass: 0, records: 1, trainer: 'ann', code: 'X', error: '', where: '' }] },
    ],
  ])('is refused when it is not of this job: %s', (_, part) => {
    const state = { phase: 'train', pass: 0 } as const;
    const saved: SavedQueue = { state, blocks: new Map(), totals: new Map(), discarded: [], ...part };
    const restore = (): unknown => createTaskQueue(configOf({ tasks: 3, passes: 2 }), saved, 0);
    expect(restore).toThrow(PaddletError);
    expect(restore).toThrow(expect.objectContaining({ code: 'StoreValueInvalid' }));
  });

  it('has blocks of a size that no trainer names can push over the limit of a value', () => {
    const rig = new QueueRig({ tasks: BLOCK_TASKS, passes: 1 });
    const name = 'n'.repeat(250);
    const trainers = Array.from({ length: BLOCK_TASKS }, (_, i) => `${name}${i}`);
    rig.joined(...trainers);
    for (const trainer of trainers) rig.take(trainer);
    const bytes = JSON.stringify(rig.saved.load().blocks.get(0)).length;
    expect(bytes).toBeLessThan(100_000);
  });
});

function openBlock(open: NonNullable<ReturnType<SavedQueue['blocks']['get']>>['open']): SavedQueue['blocks'] {
  return new Map([[0, { done: '00', open, sums: noSums() }]]);
}
