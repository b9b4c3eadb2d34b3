/** Commands of the user: what they get, how they end, and that none outlives who started it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClock } from '../../src/host/clock.ts';
import { createShell } from '../../src/host/shell.ts';
import { ROOT } from '../source-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-shell-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const shell = createShell(createClock());

async function run(command: string, env: Record<string, string> = {}, signal = new AbortController().signal) {
  const lines: string[] = [];
  const end = await shell.run(command, { env, folder, signal, onLine: (line) => lines.push(line) });
  return { end, lines: lines.sort() };
}

test('has folder, variables, both outputs and the exit code', async () => {
  const { end, lines } = await run('pwd; echo "to $WHOM" >&2; exit 3', { WHOM: 'you' });
  expect(end).toEqual({ code: 3, signal: null });
  expect(lines).toEqual([folder, 'to you'].sort());
  expect(await run('true')).toMatchObject({ end: { code: 0 }, lines: [] });
});

/** Ended, whether or not anybody has asked how (proc(5): Z is a process that has). */
function isGone(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  try {
    return /\) Z /.test(readFileSync(stat, 'utf8'));
  } catch {
    return true;
  }
}

test('a stop ends the command and what it started', async () => {
  const stop = new AbortController();
  const pids: number[] = [];
  const end = await shell.run('sleep 600 & echo $!; wait', {
    env: {},
    folder,
    signal: stop.signal,
    onLine: (line) => {
      pids.push(Number(line));
      stop.abort();
    },
  });
  expect(end.code).not.toBe(0);
  await expect.poll(() => isGone(pids[0]!)).toBe(true);
});

test('a command dies with the process that runs it, also by SIGKILL', async () => {
  const script = `
    const { createShell } = await import(${JSON.stringify(join(ROOT, 'src/host/shell.ts'))});
    const { createClock } = await import(${JSON.stringify(join(ROOT, 'src/host/clock.ts'))});
    const signal = new AbortController().signal;
    await createShell(createClock()).run('echo $$; sleep 600; touch outlived', {
      env: {}, folder: ${JSON.stringify(folder)}, signal, onLine: (line) => console.log(line) });`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(owner.stdout, 'data')) as [Buffer];
  const pid = Number(String(said));
  expect(isGone(pid)).toBe(false);
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  await expect.poll(() => isGone(pid)).toBe(true);
  expect(existsSync(join(folder, 'outlived'))).toBe(false);
});
