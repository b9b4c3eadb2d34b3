/** One process at a time in a folder, however the one before ended. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isFolderLocked, lastHolder, lockFolder } from '../../src/host/folder-lock.ts';
import { spawnSelf } from '../../src/host/processes.ts';
import { SmallDisk } from '../store/small-disk.ts';

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const MODULE = JSON.stringify(resolve(import.meta.dirname, '../../src/host/folder-lock.ts'));

test('another process cannot take it, and learns who has it; SIGKILL of the holder frees it', async () => {
  const folder = openFolder();
  const self = {
    command: process.execPath,
    args: [
      '--input-type=module',
      '-e',
      `import { lockFolder } from ${MODULE};
       const lock = lockFolder(${JSON.stringify(folder)});
       lock.describe({ pid: process.pid, started: '2026-01-02T03:04:05.000Z', job: 'a', logFrom: 7 });
       setInterval(() => lock, 1000);`,
    ],
  };
  expect(isFolderLocked(folder)).toBe(false);
  const holder = await spawnSelf([], { self });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await expect.poll(() => lastHolder(folder)?.pid).toBe(holder.pid);
  expect(isFolderLocked(folder)).toBe(true);
  expect(lockFolder(folder)).toBeUndefined();
  expect(lastHolder(folder)).toEqual({ pid: holder.pid, started: '2026-01-02T03:04:05.000Z', job: 'a', logFrom: 7 });
  holder.kill('SIGKILL');
  await holder.ended;
  expect(isFolderLocked(folder)).toBe(false);
  const next = lockFolder(folder);
  expect(next?.before?.pid).toBe(holder.pid);
  expect(lastHolder(folder)).toBeUndefined();
  next?.release();
});

test('the same process cannot take it twice, and looking at it does not end it', () => {
  const folder = openFolder();
  const lock = lockFolder(folder)!;
  expect(isFolderLocked(folder)).toBe(true);
  expect(lockFolder(folder)).toBeUndefined();
  expect(isFolderLocked(folder)).toBe(true);
  lock.release();
  expect(isFolderLocked(folder)).toBe(false);
});

test('a folder that is missing is refused, not locked', () => {
  expect(() => lockFolder('/proc/none')).toThrow(/the folder \/proc\/none cannot be written to/);
});

test.skipIf(SmallDisk.whyNot() !== undefined)(
  'a folder on a full disk is refused with the advice to free space',
  () => {
    const disk = SmallDisk.mount(65_536);
    onTestFinished(() => disk.unmount());
    disk.fill();
    expect(() => lockFolder(disk.folder)).toThrow(
      expect.objectContaining({
        code: 'SystemRefused',
        message: expect.stringContaining('its disk is full'),
        hint: expect.stringMatching(/^free space in /),
      }),
    );
  },
);
