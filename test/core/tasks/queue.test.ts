/** What the queue promises, one story a promise (docs/design.md §4; seeds/distributed-training.en.md, "Task Queue"). */
import { describe, expect, it } from 'vitest';
import { CODES } from '../../../src/base/errors.ts';
import { LIMITS } from '../../../src/base/limits.ts';
import type { AttemptRef } from '../../../src/core/tasks/address.ts';
import { QueueRig, refused, sumsOf } from './queue-rig.ts';

const MOST = LIMITS.tasksHeld;
const all = (tasks: number): number[] => Array.from({ length: tasks }, (_, task) => task);
const sorted = (tasks: readonly number[]): number[] => [...tasks].sort((a, b) => a - b);

describe('a pass', () => {
  it('begins with all tasks to do, and ends when all are done', () => {
    const rig = new QueueRig({ tasks: 3 });
    expect(rig.queue.counts()).toMatchObject({ phase: 'train', pass: 0, total: 3, todo: 3, pending: 0, done: 0 });
    expect(sorted(rig.finishAll()[0]!)).toEqual([0, 1, 2]);
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', todo: 0, pending: 0, done: 3, discarded: 0 });
    expect(rig.of('passEnded')).toHaveLength(1);
    expect(rig.of('ended')).toHaveLength(1);
  });

  it('deals 20 tasks in each of 10 passes, each once a pass', () => {
    const rig = new QueueRig({ tasks: 20, passes: 10 });
    const byPass = rig.finishAll();
    expect(byPass).toHaveLength(10);
    for (const tasks of byPass) expect(sorted(tasks)).toEqual(all(20));
    expect(rig.of('passEnded').map(({ pass }) => pass)).toEqual(all(10));
    expect(rig.queue.totals().ended.map(({ done, sums }) => [done, sums.read])).toEqual(all(10).map(() => [20, 200]));
  });

  it('is dealt in an order that its number and the seed decide', () => {
    const one = new QueueRig({ tasks: 50, passes: 2, seed: 7 }).finishAll();
    expect(new QueueRig({ tasks: 50, passes: 2, seed: 7 }).finishAll()).toEqual(one);
    expect(one[1]).not.toEqual(one[0]);
    expect(new QueueRig({ tasks: 50, passes: 2, seed: 8 }).finishAll()).not.toEqual(one);
  });

  it('begins at the very step that ended the one before: a trainer that waits is dealt a task of it', () => {
    const rig = new QueueRig({ tasks: 1, passes: 2 });
    rig.joined('ann', 'bob');
    const first = rig.take('ann');
    expect(rig.get('bob')).toBe('waiting');
    rig.finish(first);
    expect(rig.of('deal').at(-1)?.attempt).toEqual({ queue: 'train', pass: 1, task: 0, attempt: 1, trainer: 'bob' });
  });

  it('counts nothing twice in the totals once the last one is over', () => {
    const rig = new QueueRig({ tasks: 4, passes: 2 });
    rig.finishAll();
    const { ended, current } = rig.queue.totals();
    expect(ended.map(({ sums }) => sums)).toEqual([sumsOf(40), sumsOf(40)]);
    expect(current).toEqual(sumsOf(0));
  });

  it('is over for those who ask later: none', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.finishAll();
    expect(rig.get('healer')).toBe('none');
    expect(rig.get('a stranger')).toBe('none');
    expect(rig.of('ended')).toHaveLength(1);
  });
});

describe('a trainer that asks for a task', () => {
  it('waits when all are dealt, and gets the next that comes back', () => {
    const rig = new QueueRig({ tasks: 4 });
    rig.joined('ann', 'bob', 'cid');
    const anns = [rig.take('ann'), rig.take('ann')];
    rig.take('bob');
    rig.take('bob');
    expect(rig.get('cid')).toBe('waiting');
    const request = rig.lastRequest;
    rig.handBack(anns[1]!);
    expect(rig.of('deal').at(-1)).toEqual({
      type: 'deal',
      request,
      attempt: { ...anns[1]!, attempt: 2, trainer: 'cid' },
    });
  });

  it('is answered none when the passes end without a task for it', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann', 'bob');
    const only = rig.take('ann');
    expect(rig.get('bob')).toBe('waiting');
    const request = rig.lastRequest;
    rig.finish(only);
    expect(rig.of('none')).toEqual([{ type: 'none', request }]);
  });

  it('holds a few tasks at a time, and gets the next when it has finished one', () => {
    const rig = new QueueRig({ tasks: MOST + 3 });
    rig.joined('ann');
    const [first] = Array.from({ length: MOST }, () => rig.take('ann'));
    expect(rig.get('ann')).toBe('waiting');
    rig.finish(first!);
    expect(rig.heldBy('ann')).toHaveLength(MOST);
    expect(rig.queue.counts()).toMatchObject({ done: 1, pending: MOST, todo: 2, waiting: 0 });
  });

  it('takes several at once, fewer as the pass comes to its end, and one at least', () => {
    const rig = new QueueRig({ tasks: 20 });
    rig.joined('ann', 'bob');
    const counts: number[] = [];
    for (let at = 0; rig.queue.counts().todo > 0; at++) {
      const dealt = rig.getAll(at % 2 === 0 ? 'ann' : 'bob', 5);
      counts.push(dealt.length);
      for (const ref of dealt) rig.finish(ref);
    }
    // A quarter of what is to do after the first one: there are two trainers.
    expect(counts).toEqual([5, 4, 3, 2, 2, 1, 1, 1, 1]);
  });

  it('never holds more than a few, however many it asks for', () => {
    const rig = new QueueRig({ tasks: 100 });
    rig.joined('ann');
    expect(rig.getAll('ann', MOST - 1)).toHaveLength(MOST - 1);
    expect(rig.getAll('ann', MOST - 1)).toHaveLength(1);
  });

  it('has one before another has two', () => {
    const rig = new QueueRig({ tasks: 2 });
    expect(rig.getAll('ann', 2)).toEqual([]);
    expect(rig.getAll('bob', 2)).toEqual([]);
    rig.step({ type: 'roster', trainers: ['ann', 'bob'] });
    expect(rig.of('deal').map(({ attempt }) => attempt.trainer)).toEqual(['ann', 'bob']);
  });

  it('does not hold up the ones behind it while it has enough', () => {
    const rig = new QueueRig({ tasks: MOST + 3 });
    rig.joined('ann', 'bob');
    for (let held = 0; held < MOST; held++) rig.take('ann');
    expect(rig.get('ann')).toBe('waiting');
    expect(rig.take('bob').trainer).toBe('bob');
  });

  it('is served in the order of asking', () => {
    const rig = new QueueRig({ tasks: 3 });
    const asked = ['cid', 'ann', 'bob'];
    for (const trainer of asked) expect(rig.get(trainer)).toBe('waiting');
    rig.step({ type: 'roster', trainers: ['ann', 'bob', 'cid'] });
    expect(rig.of('deal').map(({ attempt }) => attempt.trainer)).toEqual(asked);
  });

  it('gets nothing unless it is live', () => {
    const rig = new QueueRig({ tasks: 3 });
    expect(rig.get('ghost')).toBe('waiting');
    rig.pass(10_000);
    expect(rig.queue.counts()).toMatchObject({ todo: 3, waiting: 1 });
    rig.joined('ghost');
    expect(rig.of('deal')).toHaveLength(1);
    rig.gone('ghost');
    expect(rig.get('ghost')).toBe('waiting');
  });

  it('is forgotten when it gives up', () => {
    const rig = new QueueRig({ tasks: 1 });
    expect(rig.get('ann')).toBe('waiting');
    rig.step({ type: 'cancel', request: rig.lastRequest });
    rig.step({ type: 'cancel', request: 4711 });
    rig.joined('ann');
    expect(rig.of('deal')).toEqual([]);
    expect(rig.queue.counts().waiting).toBe(0);
  });

  it('may register again and again: it is one trainer', () => {
    const rig = new QueueRig({ tasks: 5 });
    rig.joined('ann', 'ann', 'ann');
    rig.take('ann');
    rig.take('ann');
    rig.joined('ann');
    expect(rig.heldBy('ann')).toHaveLength(2);
    rig.gone('ann');
    expect(rig.get('ann')).toBe('waiting');
  });
});

describe('an answer that was lost', () => {
  it('goes back at the next request, which does not name it, and counts for no failure', () => {
    const rig = new QueueRig({ tasks: 1, maxFailures: 0 });
    rig.joined('ann');
    const lost = rig.take('ann');
    const again = rig.get('ann', []);
    expect(again).toEqual({ ...lost, attempt: 2 });
    expect(rig.finish(lost)).toEqual(refused('AttemptNotLive'));
    expect(rig.finish(again as AttemptRef)).toBe('accept');
  });

  it('is told from the tasks that the trainer does hold, of this pass and this attempt', () => {
    const rig = new QueueRig({ tasks: 3 });
    rig.joined('ann', 'bob');
    const held = rig.take('ann');
    const lost = rig.take('ann');
    const bobs = rig.take('bob');
    const stale = { ...lost, attempt: 9 };
    rig.get('ann', [held, stale, { ...lost, pass: 5 }]);
    expect(rig.live()).toContainEqual(held);
    expect(rig.live()).toContainEqual(bobs);
    expect(rig.live()).not.toContainEqual(lost);
  });
});

describe('what trainers say that they read', () => {
  const readIn = (rig: QueueRig): number => rig.queue.totals().current.read;

  it('counts for an attempt at most the records of its task, however it ends', () => {
    const rig = new QueueRig({ tasks: 4, maxFailures: 9 });
    rig.joined('ann');
    rig.fail(rig.take('ann'), { read: 100_000 });
    rig.handBack(rig.take('ann'), 100_000);
    const request = 1_000;
    const sums = { ...sumsOf(10), read: 100_000, duplicate: 100_000 };
    rig.step({ type: 'finish', ...rig.take('ann'), sums, request });
    expect(rig.queue.totals().current).toMatchObject({ read: 3 * 10, duplicate: 10, good: 10 });
  });

  it('counts once for each attempt, by the trainer that has it', () => {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.finish(ref);
    for (let attempt = 1; attempt <= 20; attempt++) {
      expect(rig.finish({ ...ref, attempt })).toEqual(refused('AttemptNotLive'));
      expect(rig.fail({ ...ref, attempt, trainer: 'eve' }, { read: 10 })).toEqual(refused('AttemptNotLive'));
      expect(rig.handBack({ ...ref, task: 1 - ref.task, attempt }, 10)).toEqual(refused('AttemptNotLive'));
      expect(rig.handBack({ ...ref, task: 7 + attempt }, 10)).toEqual(refused('AttemptNotLive'));
    }
    expect(readIn(rig)).toBe(10);
  });

  it('counts of an attempt that is over, too, even when its task is done', () => {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann', 'bob');
    const anns = rig.take('ann');
    rig.gone('ann');
    const bobs = { ...anns, attempt: 2, trainer: 'bob' };
    while (rig.live().every(({ task }) => task !== anns.task)) rig.take('bob');
    expect(rig.finish(bobs)).toBe('accept');
    expect(rig.finish(anns, 7)).toEqual(refused('AttemptNotLive'));
    expect(rig.finish(anns, 7)).toEqual(refused('AttemptNotLive'));
    expect(readIn(rig)).toBe(10 + 7);
  });

  it('counts of an attempt whose pass is over, too, in that pass, and after a restart of the master', () => {
    const rig = new QueueRig({ tasks: 1, passes: 2 });
    rig.joined('ann', 'bob');
    for (const pass of [0, 1]) {
      const anns = rig.take('ann');
      rig.gone('ann');
      rig.joined('ann');
      expect(rig.finish(rig.take('bob'))).toBe('accept');
      expect(rig.handBack(anns, 7)).toEqual(refused('PassBefore'));
      expect(rig.handBack(anns, 7)).toEqual(refused('PassBefore'));
      expect(rig.queue.totals().ended[pass]).toMatchObject({ done: 1, sums: { read: 10 + 7, good: 10 } });
    }
    rig.restart('ann', 'bob');
    expect(rig.queue.totals().ended.map(({ sums }) => sums.read)).toEqual([17, 17]);
  });

  it('does not count for an attempt that never reached its trainer', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann');
    const lost = rig.take('ann');
    const again = rig.get('ann', []);
    expect(again).toMatchObject({ attempt: 2 });
    expect(rig.handBack(lost, 10)).toEqual(refused('AttemptNotLive'));
    expect(readIn(rig)).toBe(0);
  });

  it('is not counted again by a master that takes over', () => {
    const rig = new QueueRig({ tasks: 2, maxFailures: 9 });
    rig.joined('ann');
    const [first, second] = [rig.take('ann'), rig.take('ann')];
    rig.fail(first, { read: 10 });
    rig.restart('ann');
    expect(rig.fail(first, { read: 10 })).toEqual(refused('AttemptNotLive'));
    expect(readIn(rig)).toBe(10);
    expect(rig.handBack(second, 4)).toBe('accept');
    expect(readIn(rig)).toBe(14);
  });
});

describe('one door for reports', () => {
  it('accepts a finish once: the second, and a failure after it, are refused and change nothing', () => {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann');
    const ref = rig.take('ann');
    expect(rig.finish(ref)).toBe('accept');
    const before = rig.queue.counts();
    expect(rig.finish(ref)).toEqual(refused('AttemptNotLive'));
    expect(rig.fail(ref, { data: true })).toEqual(refused('AttemptNotLive'));
    expect(rig.handBack(ref)).toEqual(refused('AttemptNotLive'));
    expect(rig.queue.counts()).toEqual(before);
    expect(rig.queue.totals().current).toEqual(sumsOf(10));
  });

  it('refuses what an older pass was told, and what a later one might be', () => {
    const rig = new QueueRig({ tasks: 1, passes: 3 });
    rig.joined('ann');
    const first = rig.take('ann');
    rig.finish(first);
    const second = rig.take('ann');
    expect(second.pass).toBe(1);
    expect(rig.finish(first)).toEqual(refused('PassBefore'));
    expect(rig.finish({ ...second, pass: 2 })).toEqual(refused('PassAfter'));
    expect(rig.fail({ ...second, pass: 0 })).toEqual(refused('PassBefore'));
    expect(rig.handBack({ ...second, pass: 7 })).toEqual(refused('PassAfter'));
    expect(rig.finish(second)).toBe('accept');
    rig.finish(rig.take('ann'));
    expect(rig.queue.counts().phase).toBe('ended');
    expect(rig.finish({ ...second, pass: 2 })).toEqual(refused('PassBefore'));
    expect(rig.finish({ ...second, pass: 3 })).toEqual(refused('PassAfter'));
  });

  it('refuses the finish of a task that was given to another in the meantime (defect 2)', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann', 'bob');
    const anns = rig.take('ann');
    rig.gone('ann');
    const bobs = rig.take('bob');
    expect(bobs.task).toBe(anns.task);
    expect(rig.finish(anns)).toEqual(refused('AttemptNotLive'));
    expect(rig.finish({ ...anns, attempt: bobs.attempt })).toEqual(refused('AttemptNotLive'));
    expect(rig.finish({ ...bobs, attempt: anns.attempt })).toEqual(refused('AttemptNotLive'));
    expect(rig.queue.counts()).toMatchObject({ pending: 1, done: 0 });
    expect(rig.finish(bobs)).toBe('accept');
  });

  it('refuses tasks and trainers that it never heard of', () => {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann');
    const ref = rig.take('ann');
    for (const other of [
      { ...ref, trainer: 'eve' },
      { ...ref, task: 99 },
      { ...ref, task: 1 - ref.task },
    ]) {
      expect(rig.finish(other)).toEqual(refused('AttemptNotLive'));
    }
    expect(rig.gone('eve')).toEqual([]);
    expect(rig.progress({ ...ref, trainer: 'eve' }, 3)).toEqual([]);
    expect(rig.queue.counts()).toMatchObject({ todo: 1, pending: 1 });
  });

  it('refuses with codes that tell a trainer to look again, not to die', () => {
    for (const code of ['AttemptNotLive', 'PassBefore', 'PassAfter'] as const) {
      expect(CODES[code].action).toBe('refresh');
    }
  });
});

describe('four trainers at once', () => {
  it('see each of 50 tasks once in each of 10 passes, whichever trainer gets it', () => {
    const rig = new QueueRig({ tasks: 50, passes: 10 });
    const trainers = ['ann', 'bob', 'cid', 'dot'];
    rig.joined(...trainers);
    for (const trainer of trainers) rig.get(trainer);
    const seen = new Map<string, string[]>();
    for (let turn = 0; rig.queue.counts().phase === 'train'; turn++) {
      const trainer = trainers[turn % 4]!;
      const ref = rig.heldBy(trainer)[0];
      if (ref === undefined) continue;
      const name = `${ref.pass}/${ref.task}`;
      seen.set(name, [...(seen.get(name) ?? []), trainer]);
      expect(rig.finish(ref)).toBe('accept');
      rig.get(trainer);
    }
    expect(seen.size).toBe(500);
    expect([...seen.values()].every((by) => by.length === 1)).toBe(true);
    expect(new Set([...seen.values()].flat()).size).toBe(4);
  });
});
