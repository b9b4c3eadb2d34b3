/** Commands about a store that does not answer, or that does not exist: they end in time, and create nothing. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { EXIT } from '../../src/base/errors.ts';
import type { Cancel, Clock } from '../../src/base/seams.ts';
import { runCommand, startCommand } from './run-command.ts';

/** Commands take the clock of the machine, save that this time is over when the test says so. */
const { TIMEOUT_MS, timeouts } = vi.hoisted(() => ({ TIMEOUT_MS: 6_000, timeouts: new Set<() => void>() }));
vi.mock(import('../../src/host/clock.ts'), async (load) => {
  const real = await load();
  const createClock = (): Clock => {
    const clock = real.createClock();
    const after = (ms: number, fire: () => void): Cancel => {
      if (ms !== TIMEOUT_MS) return clock.after(ms, fire);
      timeouts.add(fire);
      return () => void timeouts.delete(fire);
    };
    return { ...clock, after };
  };
  return { ...real, createClock };
});

const COMMANDS = [
  ['status'],
  ['status', '--until', 'running'],
  ['stop'],
  ['evaluate'],
  ['checkpoint', 'save'],
  ['checkpoint', 'ls'],
  ['checkpoint', 'forget', '--index', '0'],
  ['token', 'rotate'],
  ['restore', '--pservers', '2'],
  ['doctor', '--dir', 'jobs'],
];

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-unreachable-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

it('an unreachable store: every command gives up after --timeout, and says why', async () => {
  const cwd = aFolder();
  // Port 1 is reserved: no process listens there.
  const url = 'etcd://127.0.0.1:1';
  const store = ['--store', url, '--timeout', `${TIMEOUT_MS / 1000}s`];
  const running = COMMANDS.map((args) => startCommand([...args, ...store], { cwd }));
  await expect.poll(() => running.filter(({ said }) => !said.err.includes(`waiting for the store ${url}`))).toEqual([]);
  expect(timeouts.size).toBe(COMMANDS.length);
  for (const fire of timeouts) fire();
  const ends = await Promise.all(running.map(({ ended }) => ended));
  for (const [at, { code, err, out }] of ends.entries()) {
    const command = COMMANDS[at]!.join(' ');
    expect([command, code]).toEqual([command, EXIT.store]);
    const said = command.startsWith('doctor') ? out : err;
    expect(said, command).toContain(`store ${url} did not answer within 6 s: connection refused`);
    const waiting = err.split('\n').filter((line) => line.includes('waiting for'));
    for (const line of waiting) expect(line.split('127.0.0.1'), line).toHaveLength(2);
  }
});

it('a store that does not exist: no command creates it, or anything else', async () => {
  const cwd = aFolder();
  const store = ['--store', 'sqlite:nope/x.db', '--timeout', '5s'];
  const ends = await Promise.all(COMMANDS.map((args) => runCommand([...args, ...store], { cwd })));
  for (const [at, { code, err }] of ends.entries()) {
    const command = COMMANDS[at]!.join(' ');
    if (command.startsWith('doctor')) expect(code).toBe(EXIT.done);
    else expect(err, command).toContain(`no store at ${join(cwd, 'nope/x.db')}: the file is missing`);
  }
  // The folder that doctor checks.
  expect(readdirSync(cwd)).toEqual(['jobs']);
});

it('a user of the store: the password is needed, and comes from the environment or from a file', async () => {
  const cwd = aFolder();
  const store = ['--store', 'etcd://127.0.0.1:1', '--timeout', '0s', '--store-user', 'trainer'];
  const without = await runCommand(['status', ...store], { cwd });
  expect([without.code, without.err]).toEqual([EXIT.usage, expect.stringContaining('PADDLET_STORE_PASSWORD')]);
  const missing = await runCommand(['status', ...store, '--store-password-file', 'nowhere'], { cwd });
  expect([missing.code, missing.err]).toEqual([EXIT.usage, expect.stringContaining('--store-password-file nowhere')]);
  const given = await runCommand(['status', ...store], { cwd, env: { PADDLET_STORE_PASSWORD: 'of the trainer' } });
  expect([given.code, given.err]).toEqual([EXIT.store, expect.not.stringContaining('of the trainer')]);
});
