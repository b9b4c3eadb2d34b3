/** Stopping a run while one of its processes is still being started. */
import { expect, it } from 'vitest';
import type { ProcessEnd } from '../../../src/core/restart-policy.ts';
import { type ChildProcess, type ChildSpec, launch } from '../../../src/roles/launcher/launcher.ts';
import { FakeClock } from '../../store/support.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const CHILDREN: ChildSpec[] = [
  { name: 'pserver 0', role: 'pserver', args: [] },
  { name: 'master', role: 'master', args: [] },
];

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
  const launcher = launch({
    clock: new FakeClock(),
    log: SILENT,
    children: CHILDREN,
    spawn: async ({ name }) => (name === 'master' ? process(name) : spawning.promise),
    stop: stop.signal,
  });
  stop.abort();
  spawning.resolve(process('pserver 0'));

  expect(await launcher.ended).toEqual({ how: 'stopped' });
  expect(killed).toEqual(['pserver 0', 'master']);
});

it('ends also when that process cannot be started after all', async () => {
  const stop = new AbortController();
  const spawning = Promise.withResolvers<ChildProcess>();
  const launcher = launch({
    clock: new FakeClock(),
    log: SILENT,
    children: CHILDREN.slice(0, 1),
    spawn: () => spawning.promise,
    stop: stop.signal,
  });
  stop.abort();
  spawning.reject(new Error('no more processes'));
  expect(await launcher.ended).toEqual({ how: 'stopped' });
});
