/** Training halts where it may not go on yet, and goes on when it may. */
import { describe, expect, it } from 'vitest';
import { QueueRig } from './queue-rig.ts';

describe('training that halts', () => {
  const halting = () => new QueueRig({ tasks: 2, passes: 5, until: 2 });

  it('ends after the passes that may be trained, and goes on with the next', () => {
    const rig = halting();
    expect(rig.finishAll()).toHaveLength(2);
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', pass: 1 });
    expect(rig.get('ann')).toBe('none');
    rig.step({ type: 'goOn', until: 3 });
    expect(rig.queue.counts()).toMatchObject({ phase: 'train', pass: 2, todo: 2 });
    rig.finishAll();
    expect(rig.of('ended')).toHaveLength(2);
    expect(rig.of('passEnded').map(({ pass }) => pass)).toEqual([0, 1, 2]);
  });

  it('does not halt when it may go on before it gets there, nor for fewer passes than before', () => {
    const rig = halting();
    rig.step({ type: 'goOn', until: 4 });
    rig.step({ type: 'goOn', until: 1 });
    expect(rig.finishAll()).toHaveLength(4);
    expect(rig.of('ended')).toHaveLength(1);
  });

  it('never trains more passes than the job has', () => {
    const rig = halting();
    rig.step({ type: 'goOn', until: 99 });
    expect(rig.finishAll()).toHaveLength(5);
    expect(rig.step({ type: 'goOn', until: 99 })).toEqual([]);
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', pass: 4 });
  });

  it('halts and goes on under another master', () => {
    const rig = halting();
    rig.finishAll();
    rig.restart('ann');
    expect(rig.queue.counts()).toMatchObject({ phase: 'ended', pass: 1 });
    rig.step({ type: 'goOn', until: 3 });
    rig.restart('ann');
    expect(rig.queue.counts()).toMatchObject({ phase: 'train', pass: 2 });
  });
});
