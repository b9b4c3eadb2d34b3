/**
 * What ends an attempt, what of it counts as a failure, and what becomes of a task that fails too often (docs/design.md
 * §4).
 */
import { describe, expect, it } from 'vitest';
import type { AttemptRef } from '../../../src/core/tasks/address.ts';
import type { Phase } from '../../../src/core/tasks/events.ts';
import { DISCARD_TEXT_LENGTH } from '../../../src/core/tasks/state.ts';
import { QueueRig, type RigOptions, refused } from './queue-rig.ts';

function oneTask(options: Partial<RigOptions> = {}): { rig: QueueRig; ref: AttemptRef } {
  const rig = new QueueRig({ tasks: 1, maxFailures: 0, maxDiscarded: 1, ...options });
  rig.joined('ann');
  return { rig, ref: rig.take('ann') };
}

/** With `maxFailures` 0 a single failure discards: this is how a story sees whether an end counted. */
const counted = (rig: QueueRig): boolean => rig.of('discarded').length > 0;

describe('the end of a trainer', () => {
  it('sends its tasks back at once', () => {
    const rig = new QueueRig({ tasks: 3 });
    rig.joined('ann', 'bob');
    const anns = [rig.take('ann'), rig.take('ann')];
    const bobs = rig.take('bob');
    rig.gone('ann');
    expect(rig.live()).toEqual([bobs]);
    expect(rig.of('requeued').map(({ task }) => task)).toEqual(anns.map(({ task }) => task));
    expect(rig.queue.counts()).toMatchObject({ todo: 2, pending: 1 });
  });

  it('counts as a failure of the task it was executing', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0);
    rig.gone('ann');
    expect(counted(rig)).toBe(true);
  });

  it('counts for none when that task had come further', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0);
    rig.progress(ref, 1);
    rig.gone('ann');
    expect(counted(rig)).toBe(false);
  });

  it('counts for none when the first report already shows that it had come further', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 4);
    rig.gone('ann');
    expect(counted(rig)).toBe(false);
  });

  it('counts for none of the tasks it merely held', () => {
    const rig = new QueueRig({ tasks: 2, maxFailures: 0, maxDiscarded: 2 });
    rig.joined('ann');
    const executing = rig.take('ann');
    const held = rig.take('ann');
    rig.progress(executing, 0);
    rig.gone('ann');
    expect(rig.of('discarded').map(({ task }) => task.task)).toEqual([executing.task]);
    expect(rig.queue.counts()).toMatchObject({ todo: 1, discarded: 1 });
    expect(rig.of('requeued').map(({ task }) => task)).toEqual([held.task]);
  });

  it('counts when the next attempt begins where the last one came to, and gets no further', () => {
    const { rig, ref } = oneTask({ maxFailures: 1 });
    rig.progress(ref, 6);
    rig.gone('ann');
    for (const trainer of ['bob', 'cid']) {
      expect(counted(rig)).toBe(false);
      rig.joined(trainer);
      const again = rig.take(trainer);
      rig.progress(again, 0);
      rig.progress(again, 6);
      rig.gone(trainer);
    }
    expect(counted(rig)).toBe(true);
  });
});

describe('a failure that is reported', () => {
  it('counts, whether the execution was ever reported or not', () => {
    const { rig, ref } = oneTask();
    expect(rig.fail(ref)).toBe('accept');
    expect(counted(rig)).toBe(true);
  });

  it('counts for none when the task had come further and the cluster is at fault', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 1);
    rig.fail(ref);
    expect(counted(rig)).toBe(false);
    expect(rig.take('ann')).toEqual({ ...ref, attempt: 2 });
  });

  it('counts however far the task had come when its records are at fault', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 1);
    rig.fail(ref, { data: true });
    expect(counted(rig)).toBe(true);
  });

  it('adds to what was read, not to what was good', () => {
    const { rig, ref } = oneTask({ maxFailures: 1 });
    rig.fail(ref, { read: 7 });
    expect(rig.queue.totals().current).toMatchObject({ read: 7, good: 0 });
  });
});

describe('a task handed back', () => {
  it('is dealt again at once and has not failed', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0);
    expect(rig.handBack(ref, 3)).toBe('accept');
    expect(counted(rig)).toBe(false);
    expect(rig.take('ann')).toEqual({ ...ref, attempt: 2 });
    expect(rig.queue.totals().current.read).toBe(3);
  });
});

describe('the timeout', () => {
  it('is due when the work on a task has lasted so long, and ends the attempt', () => {
    const { rig, ref } = oneTask();
    expect(rig.queue.nextDeadline()).toBeUndefined();
    rig.progress(ref, 0);
    expect(rig.queue.nextDeadline()).toBe(1_000);
    rig.pass(999);
    expect(rig.live()).toEqual([ref]);
    expect(rig.queue.nextDeadline()).toBe(1_000);
    rig.pass(1);
    expect(rig.live()).toEqual([]);
    expect(counted(rig)).toBe(true);
    expect(rig.queue.nextDeadline()).toBeUndefined();
    expect(rig.finish(ref)).toEqual(refused('PassBefore'));
  });

  it('is no failure of a task that comes on', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0);
    rig.now = 900;
    rig.progress(ref, 5);
    rig.pass(100);
    expect(counted(rig)).toBe(false);
    expect(rig.of('requeued')).toHaveLength(1);
    expect(rig.finish(ref)).toEqual(refused('AttemptNotLive'));
  });

  it.each<[Phase, boolean]>([
    ['start', true],
    ['read', true],
    ['compute', true],
    ['pull', false],
    ['push', false],
    ['wait', false],
    ['idle', false],
  ])('clock in phase %s runs: %s', (phase, runs) => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0, phase);
    expect(rig.queue.nextDeadline()).toBe(runs ? 1_000 : undefined);
    rig.pass(5_000);
    expect(counted(rig)).toBe(runs);
  });

  it('adds the work up over the waits between', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0, 'compute');
    rig.advance(600);
    rig.progress(ref, 0, 'pull');
    rig.advance(99_400);
    expect(rig.queue.nextDeadline()).toBeUndefined();
    rig.progress(ref, 0, 'compute');
    expect(rig.queue.nextDeadline()).toBe(100_400);
    rig.pass(399);
    expect(rig.live()).toEqual([ref]);
    rig.pass(1);
    expect(counted(rig)).toBe(true);
  });

  it('does not run for a task that is only held', () => {
    const rig = new QueueRig({ tasks: 2, maxFailures: 0, maxDiscarded: 2 });
    rig.joined('ann');
    const executing = rig.take('ann');
    const held = rig.take('ann');
    rig.progress(executing, 0);
    rig.pass(60_000);
    expect(rig.live()).toEqual([held]);
  });

  it('does not run while the master is suspended', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0);
    rig.now = 600;
    rig.progress(ref, 0);
    rig.now = 90_000;
    rig.step({ type: 'resumed' });
    rig.pass(399);
    expect(rig.live()).toEqual([ref]);
    rig.pass(1);
    expect(rig.live()).toEqual([]);
  });

  it('adapts: three times the longest completed task, never under the floor', () => {
    const rig = new QueueRig({ tasks: 4, timeoutMs: 'auto', timeoutFloorMs: 1_000 });
    rig.joined('ann');
    const quick = rig.take('ann');
    rig.progress(quick, 0);
    expect(rig.queue.nextDeadline()).toBe(1_000);
    rig.advance(50);
    rig.finish(quick);
    rig.advance(950);
    const slow = rig.take('ann');
    rig.progress(slow, 0);
    expect(rig.queue.nextDeadline()).toBe(2_000);
    rig.advance(900);
    rig.finish(slow);
    rig.advance(100);
    const next = rig.take('ann');
    rig.progress(next, 0);
    expect(rig.queue.nextDeadline()).toBe(2_000 + 3 * 900);
  });

  it('of one task leaves the others alone', () => {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann', 'bob');
    const anns = rig.take('ann');
    const bobs = rig.take('bob');
    rig.progress(anns, 0);
    rig.now = 500;
    rig.progress(bobs, 0);
    rig.pass(500);
    expect(rig.live()).toEqual([bobs]);
    expect(rig.queue.nextDeadline()).toBe(1_500);
  });
});

describe('a task that fails once too often', () => {
  const poison = (options: Partial<RigOptions> = {}): QueueRig => {
    const rig = new QueueRig({ tasks: 3, passes: 2, maxFailures: 3, maxDiscarded: 1, ...options });
    rig.joined('ann');
    return rig;
  };

  /** Fails `task` whenever it is dealt, and finishes the others. */
  const workThrough = (rig: QueueRig, task: number): void => {
    for (let ref = rig.get('ann'); typeof ref !== 'string'; ref = rig.get('ann')) {
      expect(ref.task === task ? rig.fail(ref) : rig.finish(ref)).toBe('accept');
    }
  };

  it('is discarded at the failure after `maxFailures`, and reported with place, trainer and error', () => {
    const rig = poison({ passes: 1 });
    workThrough(rig, 1);
    expect(rig.of('deal').filter(({ attempt }) => attempt.task === 1)).toHaveLength(4);
    expect(rig.queue.discarded()).toEqual([
      {
        task: 1,
        pass: 0,
        records: 10,
        trainer: 'ann',
        code: 'UnknownParameter',
        error: 'it broke',
        where: 'file records 11 to 20',
      },
    ]);
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', done: 2, discarded: 1 });
  });

  it('is discarded at once when its records are bad for every trainer, with the hint of the one that read them', () => {
    const rig = poison({ passes: 1 });
    const ref = rig.take('ann');
    rig.progress(ref, 0);
    const report = { code: 'TooManyBadRecords', error: 'f:1: bad', hint: 'fix line 1', data: true, read: 0 };
    rig.step({ type: 'fail', ...ref, ...report, request: 1 });
    expect(rig.queue.discarded()).toMatchObject([
      { task: ref.task, trainer: 'ann', code: 'TooManyBadRecords', error: 'f:1: bad', hint: 'fix line 1' },
    ]);
    rig.restart('ann');
    expect(rig.queue.discarded()).toMatchObject([{ task: ref.task, hint: 'fix line 1' }]);
  });

  it.each(['DataMissing', 'DataChanged', 'DataInvalid', 'BadGradient'])(
    'is tried again by others after %s, which another machine or other parameters may not have',
    (code) => {
      const rig = poison({ passes: 1 });
      const ref = rig.take('ann');
      rig.step({ type: 'fail', ...ref, code, error: 'it broke', data: true, read: 0, request: 1 });
      expect(rig.queue.discarded()).toEqual([]);
    },
  );

  it('ends the pass even when it is the last one pending (defect 1)', () => {
    const { rig, ref } = oneTask({ passes: 2 });
    rig.fail(ref);
    expect(rig.of('passEnded').map(({ totals }) => [totals.done, totals.discarded])).toEqual([
      [0, 1],
      [0, 1],
    ]);
    expect(rig.of('ended')).toHaveLength(1);
    expect(rig.get('ann')).toBe('none');
  });

  it('ends the pass by a timeout too', () => {
    const { rig, ref } = oneTask();
    rig.progress(ref, 0);
    rig.pass(1_000);
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', discarded: 1 });
  });

  it('stays out of later passes and is reported in each (defect 8)', () => {
    const rig = poison({ passes: 3 });
    workThrough(rig, 2);
    expect(rig.of('passEnded').map(({ totals }) => [totals.done, totals.discarded])).toEqual([
      [2, 1],
      [2, 1],
      [2, 1],
    ]);
    expect(rig.of('deal').every(({ attempt }) => attempt.task !== 2 || attempt.pass === 0)).toBe(true);
    expect(rig.of('discarded')).toHaveLength(1);
    expect([0, 1, 2].map((pass) => rig.queue.isDone(pass, 2))).toEqual([false, false, false]);
    expect([0, 1, 2].map((pass) => rig.queue.isDone(pass, 1))).toEqual([true, true, true]);
  });

  it('was done in the passes before it was discarded', () => {
    const rig = poison({ tasks: 1, passes: 3, maxFailures: 0 });
    rig.finish(rig.take('ann'));
    rig.fail(rig.take('ann'));
    expect([0, 1, 2].map((pass) => rig.queue.isDone(pass, 0))).toEqual([true, false, false]);
  });

  it('has its failures forgotten by a new pass', () => {
    const rig = poison({ tasks: 1, passes: 2, maxFailures: 1 });
    for (const pass of [0, 1]) {
      expect(rig.fail(rig.take('ann'))).toBe('accept');
      const again = rig.take('ann');
      expect(again).toMatchObject({ pass, attempt: 2 });
      rig.finish(again);
    }
    expect(rig.of('discarded')).toEqual([]);
    expect(rig.queue.counts().phase).toBe('ended');
  });

  it('fails the job when more than `maxDiscarded` are: nothing is dealt and no pass ends any more', () => {
    const rig = poison({ maxFailures: 0, maxDiscarded: 0 });
    const ref = rig.take('ann');
    rig.fail(ref);
    expect(rig.of('failed').map(({ discarded }) => discarded.task)).toEqual([ref.task]);
    expect(rig.get('ann')).toBe('waiting');
    rig.pass(1_000);
    expect(rig.of('failed')).toHaveLength(1);
    expect(rig.of('passEnded')).toEqual([]);
  });

  it('does not fail the job as long as `maxDiscarded` allows it', () => {
    const rig = poison({ maxFailures: 0, maxDiscarded: 2, passes: 1 });
    rig.fail(rig.take('ann'));
    rig.fail(rig.take('ann'));
    expect(rig.of('failed')).toEqual([]);
    rig.finish(rig.take('ann'));
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', done: 1, discarded: 2 });
  });

  it('is reported in few words, however many files it is in', () => {
    const { rig, ref } = oneTask({ describeTask: () => 'file '.repeat(1_000_000) });
    rig.step({ type: 'fail', ...ref, code: 'X', error: 'e'.repeat(1_000_000), data: true, read: 0, request: 1 });
    const [discarded] = rig.queue.discarded();
    expect(discarded?.where).toHaveLength(DISCARD_TEXT_LENGTH);
    expect(discarded?.error).toHaveLength(DISCARD_TEXT_LENGTH);
  });
});
