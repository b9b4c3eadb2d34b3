/** What `run` shows and logs. */
import { beforeEach, describe, expect, it } from 'vitest';
import { barOf, RunProgress } from '../../../src/commands/run/run-progress.ts';
import type { Waiting } from '../../../src/view/health.ts';
import type { DirectingInfo } from '../../../src/view/info.ts';
import { asyncMaster, ROUNDS, syncMaster, taskCounts } from '../../cluster/role-infos.ts';

let lines: string[];
let line: string | undefined;
let progress: RunProgress;

beforeEach(() => {
  lines = [];
  progress = new RunProgress({
    onLine: (text) => lines.push(text),
    progress: {
      update: (_done, _total, notes = []) => {
        line = typeof notes === 'string' ? notes : notes.map(({ text }) => text).join('  ');
      },
    },
  });
});

const lease = (withinMs: number): Waiting[] => [{ kind: 'lease', text: 'the lease of pserver 0 to expire', withinMs }];

it('shows what the job waits for in place of its position, and its position after that', () => {
  progress.heard(asyncMaster());
  expect(line).toMatch(/^pass 2\/4 /);
  progress.waits(lease(3_000));
  expect(line).toBe('waiting for the lease of pserver 0 to expire, 3 s');
  progress.heard(asyncMaster());
  expect(line).toBe('waiting for the lease of pserver 0 to expire, 3 s');
  progress.waits([]);
  expect(line).toMatch(/^pass 2\/4 /);
});

it('logs a wait once, however the seconds change, and again when it comes again', () => {
  for (const seconds of [5, 4, 3, 2]) progress.waits(lease(seconds * 1_000));
  expect(lines).toEqual(['waiting for the lease of pserver 0 to expire, 5 s']);
  progress.waits([]);
  progress.waits(lease(5_000));
  expect(lines).toHaveLength(2);
});

it('logs a wait for processes only when it lasts: they are being started', () => {
  const master: Waiting[] = [{ kind: 'master', text: 'a master (none is registered)' }];
  progress.waits(master);
  expect(lines).toEqual([]);
  progress.waits(master);
  expect(lines).toEqual(['waiting for a master (none is registered)']);
});

it('knows whether the job has advanced since it was asked', () => {
  expect(progress.hasAdvanced()).toBe(false);
  progress.heard(asyncMaster());
  expect([progress.hasAdvanced(), progress.hasAdvanced()]).toEqual([true, false]);
  progress.heard(asyncMaster());
  expect(progress.hasAdvanced()).toBe(false);
  progress.heard(asyncMaster({ tasks: taskCounts({ done: 3, todo: 6 }) }));
  expect(progress.hasAdvanced()).toBe(true);
});

describe('the bar', () => {
  const rounds = (round: number) =>
    syncMaster({ ...ROUNDS, total: 80, round, pass: 1, ofPass: { round: round % 20, rounds: 20 }, records: 1_200 });
  const shown = (master: DirectingInfo) => {
    const { done, total, notes } = barOf(master)!;
    return { done, total, note: notes.map(({ text }) => text).join('  ') };
  };

  it('counts tasks', () => {
    expect(shown(asyncMaster({ tasks: taskCounts({ done: 4, discarded: 1 }) }))).toEqual({
      ...{ done: 15, total: 40 },
      note: 'pass 2/4  task 4/10  loss 0.5000  320 records/s  8 s left',
    });
  });

  it('counts rounds', () => {
    expect(shown(rounds(24))).toEqual({
      ...{ done: 24, total: 80 },
      note: 'pass 2/4  round 4/20  loss 0.5000  320 records/s  9 s left',
    });
  });

  it('has no speed before the master knows one', () => {
    const note = 'pass 2/4  task 2/10  loss 0.5000';
    expect(shown({ ...asyncMaster(), recordsPerSecond: undefined })).toMatchObject({ note });
    expect(shown({ ...asyncMaster(), recordsPerSecond: 0 })).toMatchObject({ note });
  });

  it('stays while the position is not known', () => {
    const { round, pass, ofPass, records, ...unknown } = ROUNDS;
    expect(barOf(syncMaster(unknown))).toBeUndefined();
    progress.heard(rounds(24));
    const before = line;
    progress.heard(syncMaster(unknown));
    expect(line).toBe(before);
  });

  it('is full after training', () => {
    const evaluation = taskCounts({ total: 8, done: 2 });
    expect(shown({ ...rounds(80), phase: 'evaluating', evaluation })).toEqual({
      ...{ done: 1, total: 1, note: 'evaluating on the test files: task 2/8' },
    });
    expect(shown({ ...rounds(80), phase: 'concluding' })).toMatchObject({ done: 1, note: 'writing final checkpoints' });
  });
});
