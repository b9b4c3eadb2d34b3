/**
 * Stragglers get help, and the number of trainers stays within its bounds (docs/design.md §4).
 */
import { describe, expect, it } from 'vitest';
import type { AttemptRef } from '../../../src/core/tasks/address.ts';
import { QueueRig, type RigOptions, refused } from './queue-rig.ts';

/** Of each task of the rig. */
const RECORDS = 10;

/** Ten tasks that take 500 ms each, but for one that ann does not come to the end of. */
function aStraggler(options: Partial<RigOptions> = {}): { rig: QueueRig; slow: AttemptRef } {
  const rig = new QueueRig({ tasks: 10, timeoutMs: 60_000, ...options });
  rig.joined('ann', 'bob');
  const slow = rig.take('ann');
  rig.progress(slow, 0);
  for (let i = 0; i < 9; i++) {
    const ref = rig.take('bob');
    rig.progress(ref, 0);
    rig.advance(500);
    expect(rig.finish(ref)).toBe('accept');
  }
  return { rig, slow };
}

describe('a task that is far slower than the rest', () => {
  it('is dealt to an idle trainer as well, once nothing is left to do', () => {
    const { rig, slow } = aStraggler();
    expect(rig.get('bob')).toEqual({ ...slow, trainer: 'bob', attempt: 2 });
    expect(rig.of('speculated')).toEqual([
      { type: 'speculated', pass: 0, task: slow.task, slow: 'ann', trainer: 'bob' },
    ]);
    expect(rig.queue.counts()).toMatchObject({ pending: 1, todo: 0, speculations: 1 });
  });

  it('goes to a trainer that waits as soon as it counts as slow', () => {
    const rig = new QueueRig({ tasks: 4, timeoutMs: 60_000 });
    rig.joined('ann', 'bob');
    for (let i = 0; i < 3; i++) {
      const ref = rig.take('bob');
      rig.progress(ref, 0);
      rig.advance(1_000);
      rig.finish(ref);
    }
    rig.progress(rig.take('ann'), 0);
    expect(rig.get('bob')).toBe('waiting');
    rig.advance(1_999);
    expect(rig.of('speculated')).toEqual([]);
    rig.advance(1);
    expect(rig.of('speculated')).toHaveLength(1);
    expect(rig.heldBy('bob')).toHaveLength(1);
  });

  it('is done by the first to finish; the other is refused, and both have read it', () => {
    const { rig, slow } = aStraggler();
    const copy = rig.take('bob');
    expect(rig.finish(copy)).toBe('accept');
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', done: 10 });
    expect(rig.finish(slow)).toEqual(refused('PassBefore'));
  });

  it('counts what the loser read, once, and nothing of it for good', () => {
    const { rig, slow } = aStraggler({ passes: 1, tasks: 11 });
    rig.take('bob');
    const last = rig.heldBy('bob')[0]!;
    rig.gone('bob');
    rig.joined('cid');
    const again = rig.take('cid');
    expect(again.task).toBe(last.task);
    const copy = rig.get('bob');
    expect(copy).toBe('waiting');
    rig.joined('bob');
    const bobs = rig.heldBy('bob')[0]!;
    expect(bobs).toEqual({ ...slow, trainer: 'bob', attempt: 2 });
    expect(rig.finish(bobs)).toBe('accept');
    const before = rig.queue.totals().current;
    expect(rig.finish(slow, 10)).toEqual(refused('AttemptNotLive'));
    expect(rig.finish(slow, 10)).toEqual(refused('AttemptNotLive'));
    const { read, good } = rig.queue.totals().current;
    expect([read - before.read, good - before.good]).toEqual([10, 0]);
  });

  it('has lost nothing when the copy fails, and no failure is counted for the one that lost', () => {
    const { rig, slow } = aStraggler({ maxFailures: 0 });
    rig.take('bob');
    rig.gone('bob');
    expect(rig.live()).toEqual([slow]);
    expect(rig.of('requeued')).toEqual([]);
    expect(rig.finish(slow)).toBe('accept');
    expect(rig.of('discarded')).toEqual([]);
  });

  it('gets one copy at most, and none by its own trainer', () => {
    const { rig } = aStraggler();
    rig.joined('cid');
    rig.take('bob');
    expect(rig.get('cid')).toBe('waiting');
    expect(rig.get('ann')).toBe('waiting');
    rig.advance(50_000);
    expect(rig.queue.counts()).toMatchObject({ speculations: 1, waiting: 2 });
  });

  it('survives the master with both its attempts', () => {
    const { rig, slow } = aStraggler();
    const copy = rig.take('bob');
    rig.restart('ann', 'bob');
    expect(rig.live()).toEqual([slow, copy]);
    expect(rig.finish(copy)).toBe('accept');
    expect(rig.queue.counts().phase).toBe('ended');
  });
});

describe('the number of trainers', () => {
  it('must reach the minimum before anything is dealt', () => {
    const rig = new QueueRig({ tasks: 4, minTrainers: 2 });
    rig.joined('ann');
    expect(rig.get('ann')).toBe('waiting');
    expect(rig.queue.counts()).toMatchObject({ missingTrainers: 1, todo: 4 });
    rig.joined('bob');
    expect(rig.of('deal').map(({ attempt }) => attempt.trainer)).toEqual(['ann']);
    expect(rig.queue.counts().missingTrainers).toBe(0);
  });

  it('that falls below it stops the dealing, not the work that was dealt', () => {
    const rig = new QueueRig({ tasks: 4, minTrainers: 2 });
    rig.joined('ann', 'bob');
    const ref = rig.take('ann');
    rig.gone('bob');
    expect(rig.get('ann')).toBe('waiting');
    expect(rig.finish(ref)).toBe('accept');
  });

  it('above the maximum leaves the last ones standing by, until one of the others leaves', () => {
    const rig = new QueueRig({ tasks: 8, maxTrainers: 2 });
    rig.joined('ann', 'bob', 'cid');
    rig.take('ann');
    rig.take('bob');
    expect(rig.get('cid')).toBe('waiting');
    rig.gone('ann');
    expect(rig.heldBy('cid')).toHaveLength(1);
  });
});

describe('a trainer that goes silent', () => {
  /** Ann takes all there is, and says what is given, or nothing; bob waits. */
  function silent(say: (rig: QueueRig, ref: AttemptRef) => void): QueueRig {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann', 'bob');
    const refs = [rig.take('ann'), rig.take('ann')];
    for (const ref of refs) say(rig, ref);
    expect(rig.get('bob')).toBe('waiting');
    return rig;
  }

  it.each<[string, (rig: QueueRig, ref: AttemptRef) => void]>([
    ['says nothing', () => {}],
    ['says that it waits', (rig, ref) => void rig.progress(ref, 0, 'wait')],
    ['says that it does nothing', (rig, ref) => void rig.progress(ref, 0, 'idle')],
  ])('and %s loses its tasks to one that waits, without a failure', (_, say) => {
    const rig = silent(say);
    rig.advance(3_999);
    expect(rig.heldBy('bob')).toEqual([]);
    rig.advance(1);
    for (const ref of rig.heldBy('bob')) expect(rig.finish(ref)).toBe('accept');
    for (const ref of [rig.get('bob')]) expect(rig.finish(ref as AttemptRef)).toBe('accept');
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', done: 2, discarded: 0 });
  });

  it('keeps them as long as no other trainer wants any', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.progress(ref, 0, 'wait');
    rig.advance(1_000_000);
    expect(rig.finish(ref)).toBe('accept');
  });

  it('does not keep them by beginning them again and again', () => {
    const rig = silent(() => {});
    const [ref] = rig.heldBy('ann');
    for (let i = 0; i < 5; i++) {
      rig.progress(ref!, 0, 'wait');
      rig.advance(900);
      rig.step({ type: 'progress', trainer: 'ann', executing: undefined, phase: 'idle' });
      rig.get('bob');
    }
    // The other one too: what she begins again and again is no different from what she never begins.
    expect(rig.heldBy('ann')).toEqual([]);
  });

  it.each([0, 10 ** 9])('does not keep them by going from one to the other, at position %d', (position) => {
    const rig = silent(() => {});
    const refs = rig.heldBy('ann');
    for (let i = 0; i < 12; i++) {
      rig.progress(refs[i % 2]!, position, 'wait');
      rig.advance(500);
      rig.get('bob');
    }
    expect(rig.heldBy('ann')).toEqual([]);
  });

  it('does not keep them by saying that it comes further than a task can', () => {
    const rig = silent(() => {});
    const [ref] = rig.heldBy('ann');
    // A push has a record at least.
    for (let position = RECORDS; position < RECORDS + 50; position++) {
      rig.progress(ref!, position, 'wait');
      rig.advance(500);
      rig.get('bob');
    }
    expect(rig.heldBy('ann')).toEqual([]);
  });

  it('keeps no place from trainers that stand by', () => {
    const rig = new QueueRig({ tasks: 1, maxTrainers: 1 });
    rig.joined('ann', 'bob');
    expect(rig.finish(rig.take('bob'))).toBe('accept');
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', done: 1 });
  });
});
