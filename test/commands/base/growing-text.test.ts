/** A log is followed while it is written, and its files renamed, at every step of the one who reads. */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Disk } from '../../../src/base/seams.ts';
import { GrowingText, lastOf } from '../../../src/commands/base/growing-text.ts';
import { logNames, removeLogs } from '../../../src/commands/base/job-logs.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { logFile } from '../../../src/host/log-file.ts';

let folder: string;
let path: string;
const disk = createDisk();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-growing-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  path = join(folder, 'x.log');
});

/** Runs `between` before and after each call, as another process may at any time. */
function interleaved(between: () => void): Disk {
  const around =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      between();
      const result = await call(...args);
      between();
      return result;
    };
  const open = async (at: string) => {
    const file = await disk.open(at);
    return { ...file, read: around(file.read.bind(file)), close: file.close.bind(file) };
  };
  return { ...disk, list: around(disk.list), inspect: around(disk.inspect), open: around(open) };
}

async function rest(growing: GrowingText): Promise<string> {
  let all = '';
  for (let text = await growing.next(); text !== ''; text = await growing.next()) all += text;
  return all;
}

it.each([1, 2, 3, 4, 5, 6, 7])(
  'no line is lost or repeated, wherever a file is renamed: one in %d steps',
  async (steps) => {
    const { write } = logFile(path, 300);
    let step = 0;
    let written = '';
    const say = (): void => {
      // Not so fast that a file is removed before it is read.
      if (++step % (4 + steps) !== 0 || step > 4_000) return;
      const line = `line ${step}`.padEnd(40, '.');
      written += `${line}\n`;
      write(line);
    };
    const growing = new GrowingText(interleaved(say), path);
    let read = '';
    while (step <= 4_000) read += await growing.next();
    read += await rest(growing);
    expect(read).toBe(written);
    expect(readdirSync(folder)).toHaveLength(4);
  },
);

it('begins at a place in a file that has another name since, or with the last bytes of several', async () => {
  const { write, open } = logFile(path, 20);
  write('of the run before');
  const { number, bytes: offset } = open();
  for (const line of ['one', 'two, which fills it', 'three']) write(line);
  expect(await rest(new GrowingText(disk, path, { number, offset }))).toBe('one\ntwo, which fills it\nthree\n');
  for (const [bytes, text] of [
    [3, 'ee\n'],
    [6, 'three\n'],
    [9, 'it\nthree\n'],
    [1_000, 'of the run before\none\ntwo, which fills it\nthree\n'],
  ] as const) {
    expect(await rest(new GrowingText(disk, path, await lastOf(disk, path, bytes)))).toBe(text);
  }
});

it('a reader that is far behind goes on with the oldest entry that there is', async () => {
  const { write, open } = logFile(path, 60);
  write('of the run before');
  const { number, bytes: offset } = open();
  const lines = Array.from({ length: 60 }, (_, at) => `line ${String(at).padStart(3, '0')}`);
  // Files that are removed give their inodes to later ones.
  for (const line of lines) write(line);
  const read = (await rest(new GrowingText(disk, path, { number, offset }))).split('\n').slice(0, -1);
  expect(read).toEqual(lines.slice(-read.length));
  expect(read.length).toBeGreaterThan(3 * 6);
});

it('of a log that was removed and begun again, all is new', async () => {
  const growing = new GrowingText(disk, path);
  expect(await growing.next()).toBe('');
  writeFileSync(path, 'a long line of the first\n');
  expect(await rest(growing)).toBe('a long line of the first\n');
  renameSync(path, join(folder, 'other'));
  expect(await rest(growing)).toBe('');
  writeFileSync(path, 'new\n');
  expect(await rest(growing)).toBe('new\n');
  appendFileSync(path, 'newer\n');
  expect(await rest(growing)).toBe('newer\n');
  // Cut, as by hand.
  writeFileSync(path, 'cut\n');
  expect(await rest(growing)).toBe('cut\n');
});

it('logs have one name for all their files, and are removed with all of them', () => {
  mkdirSync(join(folder, 'logs'));
  const ours = ['master.log', 'master.log.1', 'pserver-0.log.3', 'trainer-1.log.out', 'run.log'];
  const others = ['master.log.old', 'notes.txt', 'trainer-x.log'];
  for (const name of [...ours, ...others]) writeFileSync(join(folder, 'logs', name), '');
  expect(logNames(folder)).toEqual(['run', 'master', 'pserver-0']);
  removeLogs(folder);
  expect(readdirSync(join(folder, 'logs')).sort()).toEqual(others.sort());
});
