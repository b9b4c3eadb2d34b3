/** Training goes on only from what is saved and stored; a master that takes over does what one master would do. */
import { describe, expect, it } from 'vitest';
import { settled, stateOf } from '../tasks/service-rig.ts';
import { missing, Rig, restore } from './evaluations-rig.ts';

describe('at a halt', () => {
  it('training goes on once the model is kept and stored, and does not wait for its scores', async () => {
    const rig = new Rig();
    const life = await rig.open();
    expect(life.at).toEqual({ passes: 1 });
    life.master.troubled.hold();
    const halted = life.halts();
    expect(await stateOf(halted)).toBe('open');
    expect(rig.events).toEqual(['saves', 'keeps pass-1']);
    life.master.troubled.releaseHold();
    expect(await halted).toBeUndefined();
    expect(rig.events.filter((event) => !event.startsWith('scores'))).toEqual([
      'saves',
      'keeps pass-1',
      'goes on to pass 2 with pass-1 stored',
    ]);
    expect(rig.events).toContain('scores pass-1');
    expect(rig.stored()).toEqual({
      pending: { passes: 1, trained: 100, name: 'pass-1' },
      until: { passes: 2 },
      worse: 0,
      isStopping: false,
    });
  });

  it('nothing is saved before the last model has its scores', async () => {
    const rig = new Rig();
    const life = await rig.open();
    await life.halts();
    const halted = life.halts();
    expect(await stateOf(halted)).toBe('open');
    expect([...rig.kept.keys()]).toEqual(['pass-1']);
    await rig.scored('pass-1', 0.5);
    expect(await halted).toBeUndefined();
    expect([...rig.kept.keys()]).toEqual(['pass-1', 'pass-2']);
  });

  it('the job ends with the scores of its last model', async () => {
    const rig = new Rig({ passes: 1 });
    const life = await rig.open();
    const halted = life.halts();
    expect(await stateOf(halted)).toBe('open');
    expect(rig.events).toEqual(['saves', 'keeps pass-1', 'scores pass-1']);
    await rig.scored('pass-1', 0.5);
    expect(await halted).toEqual({ passes: 1 });
    expect(rig.stored()?.last?.metrics).toEqual({ records: 7, logloss: 0.5 });
  });

  it('of a model that a restored pserver has changed since nothing is stored: it halts there again', async () => {
    const rig = new Rig();
    const life = await rig.open();
    life.master.troubled.hold();
    const halted = life.halts();
    await settled();
    restore(rig);
    life.master.troubled.releaseHold();
    expect(await halted).toBeUndefined();
    expect(rig.stored()).toBeUndefined();
    expect(rig.events).toEqual(['saves', 'keeps pass-1']);
    expect(life.evaluations.point(rig.length)).toEqual({ passes: 1 });
    expect(await life.halts()).toBeUndefined();
    expect(rig.kept.get('pass-1')).toEqual([{ index: 0, uuid: 'save-2' }]);
    expect(rig.stored()?.pending?.name).toBe('pass-1');
  });

  it('one that is overtaken while it waits for scores ends, and the scores come nevertheless', async () => {
    const rig = new Rig();
    const life = await rig.open();
    await life.halts();
    const halted = life.halts();
    life.overtake();
    await expect(halted).rejects.toMatchObject({ code: 'Interrupted' });
    await rig.scored('pass-1', 0.5);
    expect(rig.stored()?.best?.name).toBe('pass-1');
    expect(life.master.ends).toEqual([]);
  });
});

describe('files that are not kept', () => {
  /** Waits for all that is tried again. */
  async function inTime(rig: Rig, halted: Promise<unknown>): Promise<void> {
    for (let seconds = 0; seconds < 200 && (await stateOf(halted)) === 'open'; seconds++)
      await rig.clock.advance(1_000);
  }

  it('are saved again when they are gone', async () => {
    const rig = new Rig();
    rig.keepFailures.push(missing(), missing(), missing(), missing());
    const life = await rig.open();
    const halted = life.halts();
    await inTime(rig, halted);
    expect(await halted).toBeUndefined();
    expect(rig.kept.get('pass-1')).toEqual([{ index: 0, uuid: 'save-5' }]);
  });

  it('and gone each time are an error', async () => {
    const rig = new Rig();
    rig.keepFailures.push(...Array.from({ length: 9 }, missing));
    const life = await rig.open();
    const halted = life.halts();
    halted.catch(() => {});
    await inTime(rig, halted);
    await expect(halted).rejects.toMatchObject({ code: 'CheckpointMissing' });
    expect(rig.stored()).toBeUndefined();
  });

  it('a full disk is waited for, however long that takes', async () => {
    const rig = new Rig();
    const full = (): Error => Object.assign(new Error('full'), { code: 'ENOSPC' });
    rig.keepFailures.push(...Array.from({ length: 15 }, full));
    const life = await rig.open();
    const halted = life.halts();
    await inTime(rig, halted);
    expect(await halted).toBeUndefined();
    expect(rig.stored()?.pending?.name).toBe('pass-1');
  });

  it('a bug is not tried again', async () => {
    const rig = new Rig();
    rig.keepFailures.push(new Error('a bug'));
    const life = await rig.open();
    await expect(life.halts()).rejects.toThrow('a bug');
    expect(rig.events).toEqual(['saves']);
  });
});

describe('a master that takes over', () => {
  it('saves again what was kept and not stored', async () => {
    const rig = new Rig();
    const first = await rig.open();
    first.master.troubled.next('unknownLost');
    first.halts().catch(() => {});
    await settled();
    first.die();
    const next = await rig.open();
    expect(next.at).toEqual({ passes: 1 });
    next.evaluations.begin(next.training);
    expect(await next.halts()).toBeUndefined();
    expect(rig.events).toEqual([
      ...['saves', 'keeps pass-1', 'removes pass-1', 'saves', 'keeps pass-1', 'scores pass-1'],
      'goes on to pass 2 with pass-1 stored',
    ]);
  });

  it('scores what is stored, and halts where the one before let training go on to', async () => {
    const rig = new Rig({ rule: { everyPasses: 2 } });
    const first = await rig.open();
    await first.halts();
    first.die();
    const next = await rig.open();
    expect(next.at).toEqual({ passes: 4 });
    rig.events.length = 0;
    next.evaluations.begin(next.training);
    await rig.scored('pass-2', 0.5);
    expect(rig.events).toEqual(['scores pass-2']);
    expect(await next.halts()).toBeUndefined();
    expect(rig.events).toEqual(['scores pass-2', 'saves', 'keeps pass-4', ...['scores pass-4'], expect.any(String)]);
  });

  it('at the end of the job saves nothing twice', async () => {
    const rig = new Rig({ passes: 1 });
    const first = await rig.open();
    first.halts().catch(() => {});
    await settled();
    first.die();
    const next = await rig.open();
    const halted = next.halts();
    await rig.scored('pass-1', 0.5);
    expect(await halted).toEqual({ passes: 1 });
    next.die();
    expect(await (await rig.open()).halts()).toEqual({ passes: 1 });
    expect(rig.events).toEqual(['saves', 'keeps pass-1', 'scores pass-1', 'scores pass-1']);
  });

  it('ends a job early where the one before would have', async () => {
    const rig = new Rig({ passes: 9, rule: { patience: 1 } });
    let life = await rig.open();
    const scores = [0.5, 0.4, 0.6, 0.7];
    for (const [at, logloss] of scores.entries()) {
      const halted = life.halts();
      await settled();
      life.die();
      halted.catch(() => {});
      life = await rig.open();
      life.evaluations.begin(life.training);
      await rig.scored(`pass-${at + 1}`, logloss);
    }
    expect(life.at).toEqual({ passes: 4 });
    expect(await life.halts()).toEqual({ passes: 4 });
    expect(life.evaluations.summary()).toMatchObject({
      isStoppedEarly: true,
      best: { passes: 2, checkpoint: '/kept/pass-2', metrics: { logloss: 0.4 } },
      last: { passes: 4 },
    });
  });

  it('one that has lost the lock stores nothing', async () => {
    const rig = new Rig();
    const first = await rig.open();
    first.master.troubled.hold();
    const halted = first.halts();
    await settled();
    await rig.open();
    first.master.troubled.releaseHold();
    await expect(halted).rejects.toMatchObject({ code: 'LeaseGone' });
    expect(rig.stored()).toBeUndefined();
    expect(rig.events).toEqual(['saves', 'keeps pass-1']);
  });

  it('a write of it that lands late undoes nothing', async () => {
    const rig = new Rig();
    const life = await rig.open();
    await life.halts();
    life.master.troubled.next('unknownLate');
    await rig.scored('pass-1', 0.5);
    await rig.clock.advance(60_000);
    expect(rig.stored()?.last?.name).toBe('pass-1');
    await life.halts();
    expect(life.master.troubled.landLate()).toEqual([false]);
    expect(rig.stored()?.pending?.name).toBe('pass-2');
  });

  it('is not moved by scores that come before it has saved', async () => {
    const rig = new Rig({ passes: 9, rule: { everyPasses: 2, patience: 1 } });
    let life = await rig.open();
    for (const logloss of [0.5, 0.6]) {
      await life.halts();
      await rig.scored(`pass-${life.at.passes - 2}`, logloss);
    }
    life.die();
    life = await rig.open();
    expect(life.at).toEqual({ passes: 6 });
  });
});
