/** What the progress bar of `run` shows. */
import { describe, expect, it } from 'vitest';
import type { DirectingInfo } from '../../../src/cluster/info.ts';
import { createProgressMeter as createMeter } from '../../../src/commands/run/job-progress.ts';
import { asyncMaster, ROUNDS, syncMaster, taskCounts } from '../../cluster/role-infos.ts';

const tasks = (done: number, read: number) =>
  asyncMaster({ tasks: taskCounts({ done }), sums: { read, good: read, bad: 0, duplicate: 0 } });
const rounds = (round: number, records: number) =>
  syncMaster({
    ...ROUNDS,
    total: 80,
    round,
    pass: Math.floor(round / 20),
    ofPass: { round: round % 20, rounds: 20 },
    records,
  });

/** With the notes as one text. */
function createProgressMeter() {
  const meter = createMeter();
  return (info: DirectingInfo, now: number) => {
    const { done, total, notes } = meter(info, now);
    return { done, total, note: notes.map(({ text }) => text).join('  ') };
  };
}

describe('the progress of a job', () => {
  it('by tasks', () => {
    const meter = createProgressMeter();
    expect(meter(tasks(2, 1_200), 0)).toEqual({ done: 12, total: 40, note: 'pass 2/4  task 2/10  loss 0.5000' });
    expect(meter(tasks(4, 1_400), 1_000)).toEqual({
      done: 14,
      total: 40,
      note: 'pass 2/4  task 4/10  loss 0.5000  200 records/s  13 s left',
    });
  });

  it('by rounds', () => {
    const meter = createProgressMeter();
    meter(rounds(22, 1_100), 0);
    expect(meter(rounds(24, 1_200), 1_000)).toEqual({
      done: 24,
      total: 80,
      note: 'pass 2/4  round 4/20  loss 0.5000  100 records/s  28 s left',
    });
  });

  it('by rounds, when all pservers are set back: the speed is counted from there', () => {
    const meter = createProgressMeter();
    meter(rounds(40, 2_000), 0);
    expect(meter(rounds(20, 1_000), 1_000)).toMatchObject({ done: 20, note: 'pass 2/4  round 0/20  loss 0.5000' });
    expect(meter(rounds(21, 1_050), 2_000).note).toContain('50 records/s');
  });

  it('stays while the position is not known', () => {
    const meter = createProgressMeter();
    const shown = meter(rounds(22, 1_100), 0);
    const { round, pass, ofPass, records, ...unknown } = ROUNDS;
    expect(meter(syncMaster(unknown), 1_000)).toEqual(shown);
  });

  it('of the end', () => {
    const meter = createProgressMeter();
    expect(
      meter({ ...rounds(80, 4_000), phase: 'evaluating', evaluation: taskCounts({ total: 8, done: 2 }) }, 0),
    ).toEqual({
      done: 1,
      total: 1,
      note: 'evaluating on the test files: task 2/8',
    });
    expect(meter({ ...rounds(80, 4_000), phase: 'concluding' }, 0).done).toBe(1);
  });
});
