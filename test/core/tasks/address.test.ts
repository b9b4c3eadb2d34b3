/** A queue is asked and answers by address only: what is of another queue, or of another evaluation, is not its own. */
import { describe, expect, it } from 'vitest';
import { evaluationTasks, repairTasks } from '../../../src/core/tasks/address.ts';
import { QueueRig, refused } from './queue-rig.ts';

describe('a report to the wrong queue', () => {
  it('is refused, though pass, task and attempt are those of a live one', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann');
    const ref = rig.take('ann');
    expect(rig.finish({ ...ref, queue: 'repair' })).toEqual(refused('AttemptNotLive'));
    expect(rig.queue.isLive({ ...ref, queue: 'evaluate' })).toBe(false);
    expect(rig.finish(ref)).toBe('accept');
  });

  it('adds nothing to what was read', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.finish({ ...ref, queue: 'repair' }, 10);
    expect(rig.queue.totals().current.read).toBe(0);
  });

  it('about what is executed leaves the clock of its own tasks alone', () => {
    const rig = new QueueRig({ tasks: 1 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.progress({ ...ref, queue: 'evaluate' }, 0);
    expect(rig.queue.attempts()).toMatchObject([{ executing: false }]);
    expect(rig.queue.nextDeadline()).toBeUndefined();
  });
});

describe('a trainer that asks and names what it holds', () => {
  it('keeps what it holds of this queue, whatever it holds of others', () => {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.get('ann', [{ ...ref, queue: 'repair' }, ref]);
    expect(rig.queue.isLive(ref)).toBe(true);
  });

  it('loses what it names under another queue only', () => {
    const rig = new QueueRig({ tasks: 2 });
    rig.joined('ann');
    const ref = rig.take('ann');
    rig.get('ann', [{ ...ref, queue: 'repair' }]);
    expect(rig.queue.isLive(ref)).toBe(false);
  });
});

describe('the queue of repairs', () => {
  const tasks = [
    { pass: 0, task: 7 },
    { pass: 2, task: 7 },
    { pass: 2, task: 1 },
  ];
  const aRepair = (): QueueRig => {
    const rig = new QueueRig({ tasks: 3, addressing: repairTasks(tasks), maxFailures: 0, maxDiscarded: 1 });
    rig.joined('ann');
    return rig;
  };

  it('hands out each task under its own pass and number', () => {
    const rig = aRepair();
    const dealt = [rig.take('ann'), rig.take('ann')];
    for (const ref of dealt) expect(rig.finish(ref)).toBe('accept');
    dealt.push(rig.take('ann'));
    expect(dealt.map(({ queue }) => queue)).toEqual(['repair', 'repair', 'repair']);
    expect(dealt.map(({ pass, task }) => `${pass}/${task}`).sort()).toEqual(['0/7', '2/1', '2/7']);
    expect(rig.finish(dealt[2]!)).toBe('accept');
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', done: 3 });
  });

  it('refuses tasks that are not to be repaired', () => {
    const rig = aRepair();
    const ref = rig.take('ann');
    expect(rig.finish({ ...ref, pass: 1 })).toEqual(refused('AttemptNotLive'));
    expect(rig.finish({ ...ref, task: 3 })).toEqual(refused('AttemptNotLive'));
  });

  it('names pass and task of what it returns and discards', () => {
    const rig = aRepair();
    const { pass, task, ...rest } = rig.take('ann');
    rig.handBack({ pass, task, ...rest });
    expect(rig.of('requeued')).toMatchObject([{ pass, task }]);
    rig.fail(rig.take('ann'));
    expect(rig.of('discarded').map((effect) => tasks.some((one) => one.task === effect.task.task))).toEqual([true]);
  });
});

describe('the queue of an evaluation', () => {
  it('hands out its tasks under the number of restores', () => {
    const rig = new QueueRig({ tasks: 1, addressing: evaluationTasks(3) });
    rig.joined('ann');
    expect(rig.take('ann')).toEqual({ queue: 'evaluate', pass: 3, task: 0, attempt: 1, trainer: 'ann' });
  });

  it('refuses a late report of an evaluation of earlier parameters, even of the same task, attempt and trainer', () => {
    const before = new QueueRig({ tasks: 1, addressing: evaluationTasks(3) });
    before.joined('ann');
    const late = before.take('ann');
    const rig = new QueueRig({ tasks: 1, addressing: evaluationTasks(4) });
    rig.joined('ann');
    const ref = rig.take('ann');
    expect(ref).toEqual({ ...late, pass: 4 });
    expect(rig.finish(late)).toEqual(refused('AttemptNotLive'));
    expect(rig.finish(ref)).toBe('accept');
  });
});
