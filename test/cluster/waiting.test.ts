/** Waiting for a change: for so long, until stopped, or as a signal for others. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import {
  abortOnChange,
  createSignal,
  inTurns,
  interrupted,
  unlessStopped,
  untilOrLate,
} from '../../src/cluster/waiting.ts';
import { stateOf } from '../roles/master/tasks/service-rig.ts';
import { FakeClock } from '../store/support.ts';

const open = new AbortController().signal;

describe('a long computation', () => {
  function* counting(seen: number[]) {
    for (let step = 0; step < 3; step++) {
      seen.push(step);
      yield;
    }
    return 'done';
  }

  it('gives way after each step', async () => {
    const due: (() => void)[] = [];
    const after = (_: number, fire: () => void) => {
      due.push(fire);
      return () => {};
    };
    const seen: number[] = [];
    const answer = inTurns({ ...{ monotonicMs: () => 0, wallSeconds: () => 0 }, after }, counting(seen), open);
    for (const steps of [1, 2, 3]) {
      expect(await stateOf(answer)).toBe('open');
      expect(seen).toHaveLength(steps);
      due.shift()!();
    }
    expect(await answer).toBe('done');
  });

  it('ends when it is interrupted, and leaves no timer', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const seen: number[] = [];
    const answer = inTurns(clock, counting(seen), stop.signal);
    stop.abort();
    await expect(answer).rejects.toMatchObject({ code: 'Interrupted' });
    expect({ seen, timers: clock.pendingTimers }).toEqual({ seen: [0], timers: 0 });
  });
});

describe('a long poll', () => {
  const aPoll = (maxWaitMs: number, signal = open) => {
    const clock = new FakeClock();
    const changed = createSignal();
    const value: { now?: string } = {};
    const answer = untilOrLate(changed, () => value.now, { clock, maxWaitMs, signal });
    return { clock, changed, value, answer };
  };

  it('answers with the change, and leaves no timer', async () => {
    const { clock, changed, value, answer } = aPoll(1_000);
    value.now = 'changed';
    expect(await stateOf(answer)).toBe('open');
    changed.notify();
    expect(await answer).toBe('changed');
    expect(clock.pendingTimers).toBe(0);
  });

  it('answers with nothing when its time is over', async () => {
    const { clock, answer } = aPoll(1_000);
    await clock.advance(999);
    expect(await stateOf(answer)).toBe('open');
    await clock.advance(1);
    expect(await answer).toBeUndefined();
  });

  it('of no time looks once', async () => {
    expect(await aPoll(0).answer).toBeUndefined();
  });

  it('is interrupted by its signal, which is no end of its time', async () => {
    const stop = new AbortController();
    const { clock, answer } = aPoll(1_000, stop.signal);
    stop.abort();
    await expect(answer).rejects.toMatchObject({ code: 'Interrupted' });
    expect(clock.pendingTimers).toBe(0);
    await expect(aPoll(0, stop.signal).answer).rejects.toMatchObject({ code: 'Interrupted' });
  });

  it('that meets a bug throws it', async () => {
    const look = (): never => {
      throw new TypeError('a bug');
    };
    const wait = { clock: new FakeClock(), maxWaitMs: 10, signal: open };
    await expect(untilOrLate(createSignal(), look, wait)).rejects.toThrow('a bug');
  });
});

describe('a signal that aborts on a change', () => {
  const aWatch = (stopSignal = open) => {
    const changed = createSignal();
    const state = { hasChanged: false };
    const watch = abortOnChange(changed, () => state.hasChanged, stopSignal);
    const change = async (): Promise<boolean> => {
      state.hasChanged = true;
      changed.notify();
      await Promise.resolve();
      await stateOf(Promise.resolve());
      return watch.signal.aborted;
    };
    return { watch, change };
  };

  it('does so', async () => {
    const { watch, change } = aWatch();
    expect(watch.signal.aborted).toBe(false);
    expect(await change()).toBe(true);
  });

  it('does not once it is released', async () => {
    const { watch, change } = aWatch();
    watch.release();
    expect(await change()).toBe(false);
  });

  it('does not when waiting was stopped before', async () => {
    const stop = new AbortController();
    const { change } = aWatch(stop.signal);
    stop.abort();
    expect(await change()).toBe(false);
  });
});

describe('the end of a loop', () => {
  const endsWith = (error: unknown, isStopped: boolean): unknown[] => {
    const fatal: unknown[] = [];
    unlessStopped(isStopped ? AbortSignal.abort() : open, (one) => fatal.push(one))(error);
    return fatal;
  };

  it('is fatal, but for the interruption that stopped it', () => {
    const other = new PaddletError('StoreInvalid', 'something else');
    expect(endsWith(interrupted(), true)).toEqual([]);
    expect(endsWith(interrupted(), false)).toHaveLength(1);
    expect(endsWith(other, true)).toEqual([other]);
  });
});
