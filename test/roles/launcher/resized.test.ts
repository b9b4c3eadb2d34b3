/** A run whose number of processes changes: what is missing is started, what is not wanted any more leaves. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ProcessEnd } from '../../../src/core/restart-policy.ts';
import { launch } from '../../../src/roles/launcher/launcher.ts';
import type { ChildSpec, LaunchEnd } from '../../../src/roles/launcher/supervised-child.ts';
import { FakeClock, RecordingLog } from '../../store/support.ts';

const spec = (name: string): ChildSpec => ({ name, role: name.split(' ')[0] as ChildSpec['role'], args: [] });
const LEFT: ProcessEnd = { code: 0, signal: null };
const STOPPED: ProcessEnd = { code: 130, signal: null };
const USAGE: ProcessEnd = { code: 2, signal: null };

let clock: FakeClock;
let log: RecordingLog;
let names: string[];
/** As the store has it; the launcher hears of it by `tell`, or when it looks. */
let inStore: string[];
let hasJobEnded: boolean | undefined;
let tell: () => void;
let events: string[];
let ends: Map<string, (end: ProcessEnd) => void>;
let stop: AbortController;
let launched: Promise<LaunchEnd>;

beforeEach(async () => {
  clock = new FakeClock();
  log = new RecordingLog();
  names = ['master', 'pserver 0', 'trainer 0'];
  inStore = names;
  hasJobEnded = false;
  events = [];
  ends = new Map();
  stop = new AbortController();
  launched = launch({
    clock,
    log,
    stopLimitMs: 60_000,
    stop: stop.signal,
    wanted: {
      specs: () => names.map(spec),
      onChange: (run) => {
        tell = run;
      },
      onJobEnd: () => {},
      look: async () => {
        if (hasJobEnded !== undefined) names = inStore;
        return hasJobEnded;
      },
    },
    spawn: async ({ name }) => {
      events.push(`start ${name}`);
      const ended = Promise.withResolvers<ProcessEnd>();
      ends.set(name, ended.resolve);
      const kill = (signal: string): boolean => {
        events.push(`${signal} ${name}`);
        return true;
      };
      return { pid: 1, ended: ended.promise, kill };
    },
  });
  await clock.advance(0);
  events.length = 0;
});

const resize = async (...to: string[]): Promise<void> => {
  inStore = ['master', ...to];
  names = inStore;
  tell();
  await clock.advance(0);
};
const end = async (name: string, how: ProcessEnd): Promise<void> => {
  ends.get(name)!(how);
  await clock.advance(0);
};
/** The job ends, and so do these. */
const finish = async (...all: string[]): Promise<LaunchEnd> => {
  hasJobEnded = true;
  for (const name of all) await end(name, LEFT);
  return launched;
};

describe('a run that is resized', () => {
  it('up starts the processes that are missing, and restarts them too', async () => {
    await resize('pserver 0', 'pserver 1', 'trainer 0', 'trainer 1');
    expect(events).toEqual(['start pserver 1', 'start trainer 1']);
    await end('pserver 1', { code: null, signal: 'SIGKILL' });
    await clock.advance(100);
    expect(events.slice(2)).toEqual(['start pserver 1']);
    expect(await finish('trainer 0', 'trainer 1', 'pserver 0', 'pserver 1', 'master')).toEqual({ how: 'done' });
  });

  it('down asks trainers to leave; pservers leave by themselves; none is started again', async () => {
    await resize('pserver 0', 'pserver 1', 'trainer 0', 'trainer 1');
    events.length = 0;
    await resize('pserver 0', 'trainer 0');
    tell();
    expect(events).toEqual(['SIGTERM trainer 1']);
    expect(log.messages).toContain('pserver 1, trainer 1 to leave: the job was resized and no longer needs them');
    await end('trainer 1', STOPPED);
    await end('pserver 1', LEFT);
    await clock.advance(60_000);
    expect(events).toEqual(['SIGTERM trainer 1']);
    expect(await finish('trainer 0', 'pserver 0', 'master')).toEqual({ how: 'done' });
  });

  it.each([
    ['dies on its way', { code: null, signal: 'SIGKILL' }],
    ['starts too late and is refused', USAGE],
    ['is asked to stop by someone else', STOPPED],
  ])('a pserver that is not wanted any more and %s is not started again', async (_, how) => {
    await resize('pserver 0', 'pserver 1', 'trainer 0');
    await resize('pserver 0', 'trainer 0');
    await end('pserver 1', how);
    await clock.advance(60_000);
    expect(events).toEqual(['start pserver 1']);
    expect(await finish('trainer 0', 'pserver 0', 'master')).toEqual({ how: 'done' });
  });

  it.each(['pserver 1', 'trainer 1'])('%s may be the last to leave, when the job has ended', async (last) => {
    await resize('pserver 0', 'pserver 1', 'trainer 0', 'trainer 1');
    await resize('pserver 0', 'trainer 0');
    const all = ['trainer 0', 'trainer 1', 'pserver 0', 'pserver 1', 'master'];
    hasJobEnded = true;
    for (const name of [...all.filter((one) => one !== last), last]) await end(name, LEFT);
    expect(await Promise.race([launched, 'running'])).toEqual({ how: 'done' });
  });

  it('a process that was waiting to be restarted is given up', async () => {
    await resize('pserver 0', 'pserver 1', 'trainer 0', 'trainer 1');
    await end('pserver 1', { code: 1, signal: null });
    await end('trainer 1', { code: 1, signal: null });
    events.length = 0;
    await resize('pserver 0', 'trainer 0');
    await clock.advance(60_000);
    expect(events).toEqual([]);
    expect(await finish('trainer 0', 'pserver 0', 'master')).toEqual({ how: 'done' });
  });

  it('and back: a pserver may stay, and one that had left is started again', async () => {
    const both = ['pserver 0', 'pserver 1', 'trainer 0'];
    await resize(...both);
    await resize('pserver 0', 'trainer 0');
    await resize(...both);
    expect(events).toEqual(['start pserver 1']);
    await end('pserver 1', { code: null, signal: 'SIGKILL' });
    await clock.advance(100);
    expect(events).toEqual(['start pserver 1', 'start pserver 1']);
    await resize('pserver 0', 'trainer 0');
    await end('pserver 1', LEFT);
    await resize(...both);
    expect(events.slice(2)).toEqual(['start pserver 1']);
  });

  it('a trainer that was asked to leave is started again once it has left', async () => {
    await resize('pserver 0');
    await resize('pserver 0', 'trainer 0');
    expect(events).toEqual(['SIGTERM trainer 0']);
    await end('trainer 0', STOPPED);
    expect(events).toEqual(['SIGTERM trainer 0', 'start trainer 0']);
  });
});

describe('a process that knows of a resize before its launcher', () => {
  it.each([
    ['leaves', LEFT],
    ['is refused at its start', USAGE],
  ])('%s, and stops no other', async (_, how) => {
    await resize('pserver 0', 'pserver 1', 'trainer 0');
    inStore = ['master', 'pserver 0', 'trainer 0'];
    await end('pserver 1', how);
    await clock.advance(60_000);
    expect(events).toEqual(['start pserver 1']);
    expect(await finish('trainer 0', 'pserver 0', 'master')).toEqual({ how: 'done' });
  });

  it('is started again when it has left and is wanted again by then', async () => {
    await end('pserver 0', LEFT);
    expect(events).toEqual(['start pserver 0']);
  });
});

it('a pserver that was asked to stop and is still wanted stops the run, as any process does', async () => {
  await end('pserver 0', STOPPED);
  expect(events).toEqual(['SIGINT trainer 0']);
  await end('trainer 0', STOPPED);
  await end('master', STOPPED);
  expect(await launched).toEqual({ how: 'stopped' });
});

it('while the store does not answer, a process that ends well counts as done', async () => {
  hasJobEnded = undefined;
  for (const name of ['trainer 0', 'pserver 0', 'master']) await end(name, LEFT);
  expect(await launched).toEqual({ how: 'done' });
});

it('a stop asks by SIGINT, also a trainer that is leaving, and starts nothing more', async () => {
  await resize('pserver 0');
  stop.abort();
  expect(events).toEqual(['SIGTERM trainer 0', 'SIGINT trainer 0']);
  await resize('pserver 0', 'trainer 0');
  for (const name of ['trainer 0', 'pserver 0', 'master']) await end(name, STOPPED);
  expect(events.slice(2)).toEqual(['SIGINT pserver 0', 'SIGINT master']);
  expect(await launched).toEqual({ how: 'stopped' });
});
