/** What scores of models come to: the curves, the best model, the end of the job; and those that fail. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import { stateOf } from '../tasks/service-rig.ts';
import { type Life, Rig } from './evaluations-rig.ts';

/** Halts there, goes on, and the model is scored. */
async function point(life: Life, name: string, logloss: number): Promise<void> {
  expect(await life.halts()).toBeUndefined();
  await life.rig.scored(name, logloss);
}

const failure = (): Error => new Error('no memory');

describe('a model that cannot be scored', () => {
  it('is scored again, after a while', async () => {
    const rig = new Rig();
    const life = await rig.open();
    await life.halts();
    for (let failures = 1; failures < 3; failures++) {
      await rig.notScored('pass-1', failure());
      expect(life.master.log.messages.at(-1)).toBe('the model after pass 1 could not be evaluated: no memory');
      await life.master.clock.advance(30_000);
    }
    await rig.scored('pass-1', 0.5);
    expect(rig.stored()?.best?.name).toBe('pass-1');
    expect(life.master.ends).toEqual([]);
  });

  it.each([
    ['in eight tries', 8, failure],
    ['for what it is', 2, () => new PaddletError('DataInvalid', 'no record')],
  ])('%s fails the job with the last error, and the halt that waits for it', async (_, tries, error) => {
    const rig = new Rig();
    const life = await rig.open();
    await life.halts();
    const halted = life.halts();
    halted.catch(() => {});
    const last = error();
    for (let number = 1; number <= tries; number++) {
      await rig.notScored('pass-1', number === tries ? last : error());
      await life.master.clock.advance(30_000);
    }
    await expect(halted).rejects.toBe(last);
    expect(life.master.ends).toEqual([last]);
    expect(rig.points).toEqual([]);
  });

  it('fails nothing when the master was asked to stop', async () => {
    const rig = new Rig();
    const life = await rig.open();
    await life.halts();
    life.master.stopSignal.abort();
    await rig.notScored('pass-1', failure());
    await life.master.clock.advance(10_000);
    expect(rig.events.filter((event) => event === 'scores pass-1')).toHaveLength(1);
    expect(life.master.ends).toEqual([]);
  });
});

describe('scores', () => {
  it.each([
    ['test', []],
    ['validation', ['held-out.libsvm']],
  ])('are a point of the curve %s', async (name, data) => {
    const rig = new Rig({ rule: { data, everyPasses: 2 } });
    const life = await rig.open();
    await life.halts();
    await life.master.clock.advance(5_000);
    await rig.scored('pass-2', 0.5);
    expect(rig.points).toEqual([
      { name, timeMs: 6_000, passes: 2, trained: 200, metrics: { records: 7, logloss: 0.5 } },
    ]);
  });

  it('only the best model and the newest stay', async () => {
    const rig = new Rig();
    const life = await rig.open();
    const kept: string[][] = [];
    for (const [at, score] of [0.5, 0.6, 0.4, 0.45].entries()) {
      await point(life, `pass-${at + 1}`, score);
      kept.push([...rig.kept.keys()]);
    }
    expect(kept).toEqual([['pass-1'], ['pass-1', 'pass-2'], ['pass-3'], ['pass-3', 'pass-4']]);
    expect(rig.stored()).toMatchObject({ best: { name: 'pass-3' }, last: { name: 'pass-4' }, worse: 1 });
  });

  it('what a model is that is no better any more is removed only once that is stored', async () => {
    const rig = new Rig();
    const life = await rig.open();
    await point(life, 'pass-1', 0.5);
    await life.halts();
    life.master.troubled.hold();
    await rig.scored('pass-2', 0.4);
    expect([...rig.kept.keys()]).toEqual(['pass-1', 'pass-2']);
    life.master.troubled.releaseHold();
    await life.master.clock.advance(0);
    expect([...rig.kept.keys()]).toEqual(['pass-2']);
  });
});

describe('the job', () => {
  it('ends early at the next halt after too many models that were no better', async () => {
    const rig = new Rig({ passes: 9, rule: { patience: 2 } });
    const life = await rig.open();
    for (const [at, score] of [0.5, 0.6, 0.5].entries()) await point(life, `pass-${at + 1}`, score);
    expect(life.master.log.messages.filter((said) => said.includes('ends early'))).toHaveLength(1);
    const halted = life.halts();
    expect(await stateOf(halted)).toBe('open');
    // The last model may be the best.
    await rig.scored('pass-4', 0.1);
    expect(await halted).toEqual({ passes: 4 });
    expect(rig.kept.has('pass-4')).toBe(true);
    expect(life.evaluations.summary()).toEqual({
      metric: 'logloss',
      isStoppedEarly: true,
      best: { passes: 4, checkpoint: '/kept/pass-4', metrics: { records: 7, logloss: 0.1 } },
      last: { passes: 4, checkpoint: '/kept/pass-4', metrics: { records: 7, logloss: 0.1 } },
    });
  });

  it('of rounds ends early at the end of a pass', async () => {
    const rig = new Rig({ isSync: true, rule: { everyRounds: 4, patience: 1 } });
    const life = await rig.open();
    expect(life.at).toEqual({ passes: 0, rounds: 4 });
    await point(life, 'round-4', 0.5);
    await point(life, 'round-8', 0.6);
    // It was let go up to there before the second was known to be no better.
    await point(life, 'round-12', 0.4);
    expect(life.at).toEqual({ passes: 2, rounds: 20 });
    const halted = life.halts();
    await stateOf(halted);
    await rig.scored('round-20', 0.7);
    expect(await halted).toEqual({ passes: 2, rounds: 20 });
    expect(life.evaluations.summary()).toMatchObject({
      isStoppedEarly: true,
      best: { passes: 1, rounds: 12 },
      last: { passes: 2, rounds: 20 },
    });
  });

  it('that had all its passes was not stopped early, whatever its models were worth', async () => {
    const rig = new Rig({ passes: 3, rule: { patience: 1 } });
    const life = await rig.open();
    await point(life, 'pass-1', 0.5);
    await point(life, 'pass-2', 0.6);
    const halted = life.halts();
    await stateOf(halted);
    await rig.scored('pass-3', 0.7);
    expect(await halted).toEqual({ passes: 3 });
    expect(rig.stored()?.isStopping).toBe(true);
    expect(life.evaluations.summary()).toMatchObject({ isStoppedEarly: false, best: { passes: 1 } });
  });

  it('by passes in sync mode names models by passes, and halts at rounds', async () => {
    const rig = new Rig({ isSync: true });
    const life = await rig.open();
    expect(life.at).toEqual({ passes: 1, rounds: 10 });
    await point(life, 'pass-1', 0.5);
    expect(life.evaluations.summary()?.best).toMatchObject({ passes: 1, rounds: 10, checkpoint: '/kept/pass-1' });
  });

  it('without the metric has no best model', async () => {
    const rig = new Rig({ rule: { metric: 'auc' } });
    const life = await rig.open();
    expect(life.evaluations.summary()).toBeUndefined();
    await point(life, 'pass-1', 0.5);
    expect(life.evaluations.summary()).toMatchObject({ metric: 'auc', last: { passes: 1 } });
    expect(life.evaluations.summary()).not.toHaveProperty('best');
    expect([...rig.kept.keys()]).toEqual(['pass-1']);
  });

  it('says what it waits for', async () => {
    const rig = new Rig();
    const life = await rig.open();
    life.master.troubled.hold();
    const halted = life.halts();
    expect(await stateOf(halted)).toBe('open');
    expect(life.evaluations.waitReason()).toBe('the model is being saved, to be evaluated');
    life.master.troubled.releaseHold();
    await halted;
    expect(life.evaluations.waitReason()).toBe('the model after pass 1 is being evaluated');
    await rig.scored('pass-1', 0.5);
    expect(life.evaluations.waitReason()).toBe('the model is being saved, to be evaluated');
  });
});
