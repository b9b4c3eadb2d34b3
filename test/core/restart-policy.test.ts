import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/base/errors.ts';
import { createRestartPolicy, type RestartDecision } from '../../src/core/restart-policy.ts';

const QUICK_MS = 10;
const LONG_MS = 60_000;
const killed = { code: null, signal: 'SIGKILL' };
const ended = (code: number) => ({ code, signal: null });

function pauses(verdicts: readonly RestartDecision[]): number[] {
  return verdicts.map((verdict) => (verdict.act === 'restart' ? verdict.afterMs : Number.NaN));
}

describe('a process that ended', () => {
  it('is started again when it was killed, had lost its lease or the store, or met a bug', () => {
    for (const end of [killed, ended(EXIT.leaseLost), ended(EXIT.store), ended(EXIT.bug)]) {
      expect(createRestartPolicy().ended(end, QUICK_MS)).toEqual({ act: 'restart', afterMs: 100 });
    }
  });

  it('is left alone when its work is done or it was asked to stop', () => {
    expect(createRestartPolicy().ended(ended(EXIT.done), QUICK_MS)).toEqual({ act: 'done' });
    expect(createRestartPolicy().ended(ended(EXIT.interrupted), QUICK_MS)).toEqual({ act: 'stopped' });
  });

  it('ends the whole run when the same would happen again', () => {
    for (const code of [EXIT.usage, EXIT.data, EXIT.jobFailed, EXIT.parametersLost, EXIT.tasksDiscarded]) {
      expect(createRestartPolicy().ended(ended(code), LONG_MS)).toEqual({ act: 'giveUp', code });
    }
  });

  it('is given up at once when it cannot be started, but not if it has run before', () => {
    expect(createRestartPolicy().notStarted()).toEqual({ act: 'giveUp', code: EXIT.machine });
    const policy = createRestartPolicy();
    policy.ended(killed, LONG_MS);
    const waited = pauses(Array.from({ length: 9 }, () => policy.notStarted()));
    expect(waited.slice(0, 3)).toEqual([200, 400, 800]);
    expect(policy.notStarted()).toEqual({ act: 'giveUp', code: EXIT.machine });
  });

  it('is given up at once when the machine refuses it something, but not after a long life', () => {
    const giveUp = { act: 'giveUp', code: EXIT.machine };
    expect(createRestartPolicy().ended(ended(EXIT.machine), QUICK_MS)).toEqual(giveUp);
    const policy = createRestartPolicy();
    policy.ended(killed, LONG_MS);
    for (let i = 0; i < 9; i++) expect(policy.ended(ended(EXIT.machine), QUICK_MS).act).toBe('restart');
    expect(policy.ended(ended(EXIT.machine), QUICK_MS)).toEqual(giveUp);
  });

  it('waits longer each time it dies young, up to a bound', () => {
    const policy = createRestartPolicy();
    const waited = pauses(Array.from({ length: 10 }, () => policy.ended(killed, QUICK_MS)));
    expect(waited).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000]);
  });

  it('is given up in the end when it keeps ending by itself', () => {
    const policy = createRestartPolicy();
    for (let i = 0; i < 10; i++) expect(policy.ended(ended(EXIT.store), QUICK_MS).act).toBe('restart');
    expect(policy.ended(ended(EXIT.store), QUICK_MS)).toEqual({ act: 'giveUp', code: EXIT.store });
  });

  it('is started again however often it is killed', () => {
    const policy = createRestartPolicy();
    for (let i = 0; i < 100; i++) expect(policy.ended(killed, QUICK_MS).act).toBe('restart');
  });

  it('has a clean slate once it has lived for long', () => {
    const policy = createRestartPolicy();
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 9; i++) policy.ended(killed, QUICK_MS);
      expect(policy.ended(killed, LONG_MS)).toEqual({ act: 'restart', afterMs: 100 });
    }
  });

  it('does not share its slate with the other processes', () => {
    const one = createRestartPolicy();
    for (let i = 0; i < 10; i++) one.ended(killed, QUICK_MS);
    expect(createRestartPolicy().ended(killed, QUICK_MS)).toEqual({ act: 'restart', afterMs: 100 });
  });
});
