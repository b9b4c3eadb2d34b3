/** The processes of a run: started, restarted, stopped, and no longer wanted. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ProcessEnd } from '../../../src/core/restart-policy.ts';
import { launch, type WantedProcesses } from '../../../src/roles/launcher/launcher.ts';
import type { ChildProcess, ChildSpec } from '../../../src/roles/launcher/supervised-child.ts';
import { FakeClock } from '../../store/support.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const CHILDREN: ChildSpec[] = [
  { name: 'pserver 0', role: 'pserver', args: [] },
  { name: 'master', role: 'master', args: [] },
];

/** These, for ever. */
const always = (specs: readonly ChildSpec[]): WantedProcesses => {
  return { specs: () => specs, onChange: () => {}, onJobEnd: () => {}, look: async () => true };
};

it('asks a process to leave that was being started when the run was stopped, and waits for it', async () => {
  const stop = new AbortController();
  const spawning = Promise.withResolvers<ChildProcess>();
  const killed: string[] = [];
  const process = (name: string) => {
    const ended = Promise.withResolvers<ProcessEnd>();
    const kill = (): boolean => {
      killed.push(name);
      ended.resolve({ code: 130, signal: null });
      return true;
    };
    return { pid: 1, ended: ended.promise, kill };
  };
  const ended = launch({
    clock: new FakeClock(),
    log: SILENT,
    stopLimitMs: 60_000,
    wanted: always(CHILDREN),
    spawn: async ({ name }) => (name === 'master' ? process(name) : spawning.promise),
    stop: stop.signal,
  });
  stop.abort();
  spawning.resolve(process('pserver 0'));

  expect(await ended).toEqual({ how: 'stopped' });
  expect(killed).toEqual(['pserver 0', 'master']);
});

it('ends even when that process cannot be started after all', async () => {
  const stop = new AbortController();
  const spawning = Promise.withResolvers<ChildProcess>();
  const ended = launch({
    clock: new FakeClock(),
    log: SILENT,
    stopLimitMs: 60_000,
    wanted: always(CHILDREN.slice(0, 1)),
    spawn: () => spawning.promise,
    stop: stop.signal,
  });
  stop.abort();
  spawning.reject(new Error('no more processes'));
  expect(await ended).toEqual({ how: 'stopped' });
});

it('starts again what dies, and stops everything when one process fails for good', async () => {
  const clock = new FakeClock();
  const ends = new Map<string, (end: ProcessEnd) => void>();
  const events: string[] = [];
  const ended = launch({
    clock,
    log: { ...SILENT, warn: (message: string) => void events.push(message) },
    stopLimitMs: 60_000,
    wanted: always(CHILDREN),
    spawn: async ({ name }) => {
      events.push(`start ${name}`);
      const end = Promise.withResolvers<ProcessEnd>();
      ends.set(name, end.resolve);
      const kill = (): boolean => {
        events.push(`kill ${name}`);
        end.resolve({ code: 130, signal: null });
        return true;
      };
      return { pid: 1, ended: end.promise, kill };
    },
    stop: new AbortController().signal,
  });
  await clock.advance(0);
  ends.get('pserver 0')!({ code: null, signal: 'SIGKILL' });
  await clock.advance(100);
  ends.get('master')!({ code: 3, signal: null });
  expect(await ended).toEqual({ how: 'failed', code: 3, by: 'master' });
  expect(events).toEqual([
    'start pserver 0',
    'start master',
    'pserver 0 ended (SIGKILL); restarting it in 100 ms',
    'start pserver 0',
    'kill pserver 0',
  ]);
});

it('says at once that it stops, and kills each group that does not end within its part of the limit', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const events: string[] = [];
  const say = (message: string): void => void events.push(message);
  const ended = launch({
    clock,
    log: { ...SILENT, info: say, error: say },
    stopLimitMs: 8_000,
    wanted: always([...CHILDREN, { name: 'trainer 0', role: 'trainer', args: [] }]),
    spawn: async ({ name }) => {
      const end = Promise.withResolvers<ProcessEnd>();
      const kill = (signal: string): boolean => {
        events.push(`${clock.monotonicMs() - startedMs} ${signal} ${name}`);
        // The master alone does as it is asked.
        if (signal === 'SIGKILL' || name === 'master') end.resolve({ code: 130, signal: null });
        return true;
      };
      return { pid: 1, ended: end.promise, kill };
    },
    stop: stop.signal,
  });
  await clock.advance(0);
  const startedMs = clock.monotonicMs();
  stop.abort();
  expect(events).toEqual([
    'stopping, for at most 8 s: trainers return their work, then pservers save',
    '0 SIGINT trainer 0',
  ]);
  await clock.advance(10_000);
  expect(await ended).toEqual({ how: 'stopped' });
  expect(events.filter((event) => /^\d/.test(event))).toEqual([
    '0 SIGINT trainer 0',
    '2000 SIGKILL trainer 0',
    '2000 SIGINT pserver 0',
    '6000 SIGKILL pserver 0',
    '6000 SIGINT master',
  ]);
  expect(events).toContain('waiting for pserver 0 to stop; Ctrl-C again kills all processes');
  expect(events).toContain('pserver 0 did not stop in time and was killed: training resumes from the last checkpoint');
});

it('tries again when a process that has run cannot be started, and gives up one that never ran', async () => {
  const clock = new FakeClock();
  const options = { clock, log: SILENT, stopLimitMs: 60_000, wanted: always(CHILDREN.slice(0, 1)) };
  const stop = new AbortController().signal;
  const child = (end: ProcessEnd): ChildProcess => ({ pid: 1, ended: Promise.resolve(end), kill: () => false });
  let attempts = 0;
  const spawn = async (): Promise<ChildProcess> => {
    attempts++;
    if (attempts === 1) return child({ code: null, signal: 'SIGKILL' });
    if (attempts < 4) throw new Error('EMFILE');
    return child({ code: 0, signal: null });
  };
  const ended = launch({ ...options, spawn, stop });
  await clock.advance(2_000);
  expect(await ended).toEqual({ how: 'done' });
  expect(attempts).toBe(4);

  attempts = 1;
  expect(await launch({ ...options, spawn, stop })).toEqual({ how: 'failed', code: 9, by: 'pserver 0' });
  expect(attempts).toBe(2);
});

const LATER: ChildSpec[] = [
  { name: 'pserver 1', role: 'pserver', args: [] },
  { name: 'pserver 2', role: 'pserver', args: [] },
];

it('says that a process could not stop cleanly only when it ends otherwise than the job', async () => {
  const said: string[] = [];
  const ends = new Map<string, (end: ProcessEnd) => void>();
  const ended = launch({
    clock: new FakeClock(),
    log: { ...SILENT, warn: (message: string) => void said.push(message) },
    stopLimitMs: 60_000,
    wanted: always([...CHILDREN, ...LATER]),
    spawn: async ({ name }) => {
      const end = Promise.withResolvers<ProcessEnd>();
      ends.set(name, end.resolve);
      const kill = (): boolean => {
        // The job has failed: a role that learns it ends with the same code. One cannot save, one had just started.
        if (name === 'pserver 2') end.resolve({ code: null, signal: 'SIGINT' });
        else end.resolve({ code: name === 'pserver 1' ? 7 : 3, signal: null });
        return true;
      };
      return { pid: 1, ended: end.promise, kill };
    },
    stop: new AbortController().signal,
  });
  await new Promise(setImmediate);
  ends.get('master')!({ code: 3, signal: null });
  expect(await ended).toEqual({ how: 'failed', code: 3, by: 'master' });
  expect(said).toEqual(['pserver 1 could not stop cleanly (exit code 7)']);
});

describe('when the job has ended', () => {
  const clock = new FakeClock();
  let said: string[];
  let stop: AbortController;
  let tell: () => void;
  let end: (name: string) => void;
  let ended: Promise<unknown>;

  beforeEach(async () => {
    said = [];
    stop = new AbortController();
    const ends = new Map<string, () => void>();
    end = (name) => ends.get(name)!();
    const say = (message: string): void => void said.push(message);
    ended = launch({
      clock,
      log: { ...SILENT, info: say, warn: say, error: say },
      stopLimitMs: 60_000,
      wanted: {
        ...always([...CHILDREN, { name: 'trainer 0', role: 'trainer', args: [] }]),
        onJobEnd: (run) => {
          tell = run;
        },
      },
      spawn: async ({ name }) => {
        const process = Promise.withResolvers<ProcessEnd>();
        ends.set(name, () => process.resolve({ code: 0, signal: null }));
        const kill = (signal: string): boolean => {
          say(`${signal} ${name}`);
          if (signal === 'SIGKILL') process.resolve({ code: null, signal });
          return true;
        };
        return { pid: 1, ended: process.promise, kill };
      },
      stop: stop.signal,
    });
    await clock.advance(0);
  });

  it('says whom it waits for, and kills a process that is suspended', async () => {
    tell();
    end('master');
    end('pserver 0');
    await clock.advance(14_000);
    expect(said).toEqual([
      'waiting for trainer 0 to end, as the job has; killed 15 s after that',
      'waiting for trainer 0 to end, as the job has; killed 15 s after that',
    ]);
    said = [];
    await clock.advance(1_000);
    expect(await ended).toEqual({ how: 'done' });
    expect(said).toEqual([
      'trainer 0 did not end in time and was killed: the job has ended, so nothing is lost',
      'SIGKILL trainer 0',
    ]);
  });

  it('does not say after a stop either that work is computed again', async () => {
    tell();
    end('master');
    end('pserver 0');
    await clock.advance(0);
    stop.abort();
    await clock.advance(15_000);
    expect(await ended).toEqual({ how: 'stopped' });
    expect(said.filter((text) => !text.startsWith('waiting'))).toEqual([
      'stopping, for at most 60 s',
      'SIGINT trainer 0',
      'trainer 0 did not end in time and was killed: the job has ended, so nothing is lost',
      'SIGKILL trainer 0',
    ]);
  });
});
