/** What `run` shows and logs. */
import { beforeEach, expect, it } from 'vitest';
import type { Waiting } from '../../../src/cluster/job/health.ts';
import { RunProgress } from '../../../src/commands/run/run-progress.ts';
import { asyncMaster, taskCounts } from '../../cluster/role-infos.ts';
import { FakeClock } from '../../store/support.ts';

let lines: string[];
let line: string | undefined;
let progress: RunProgress;

beforeEach(() => {
  lines = [];
  progress = new RunProgress({
    clock: new FakeClock(),
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
