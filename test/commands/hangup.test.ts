/** What a SIGHUP does to real processes: `nohup` promises that a command outlives its terminal. */
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderOfFile } from '../folders.ts';
import { COMPILED, ENTRY } from './run-command.ts';

/** More than a pipe takes: when it is written, the command reads, and has its handlers of signals. */
const MUCH = Buffer.alloc(1 << 20, 'text\n');

/** Prints its pid, then becomes the command, which reads from a pipe `in` and writes errors to a file `err`. */
const COMMAND = `echo $$ >pid; exec ${process.execPath} ${ENTRY} data recordio pack - -o packed <in >out 2>err`;

test.each([
  ['under nohup', (line: string) => ['bash', '-c', 'nohup sh -c "$1"; true', 'bash', line], 'SIGTERM'],
  [
    'of a terminal that it does not use',
    (line: string) => ['script', '-qec', line.replace('exec', 'exec env -u _'), '/dev/null'],
    'SIGTERM',
  ],
  ['without a terminal', (line: string) => ['sh', '-c', line], 'SIGHUP'],
])('a command %s: SIGHUP', async (_where, program, stoppedBy) => {
  const cwd = folderOfFile('paddlet-hangup-');
  const [file = '', ...args] = program(COMMAND);
  execFileSync('mkfifo', [join(cwd, 'in')]);
  const env = { ...COMPILED, PATH: process.env.PATH, SHELL: '/bin/sh' };
  // In a session of its own, or it would have the terminal of these tests.
  const child = spawn(file, args, { cwd, env, stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const input = createWriteStream(join(cwd, 'in'));
  await new Promise((resolve) => input.write(MUCH, resolve));
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'));
  for (const signal of new Set(['SIGHUP', stoppedBy])) process.kill(pid, signal);
  await ended;
  input.destroy();
  expect(readFileSync(join(cwd, 'err'), 'utf8')).toBe(`error Interrupted: stopped by ${stoppedBy}\n`);
});
