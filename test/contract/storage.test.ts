/** What every storage promises (src/base/seams.ts), and what that of a disk adds. */

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { withFile } from '../../src/base/files.ts';
import type { PutOptions, Storage } from '../../src/base/seams.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { createSimulatedDisk } from '../simulated-disk.ts';
import { SimulatedObjects } from '../simulated-objects.ts';

function onRealDisk(): { readonly storage: Storage; readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-storage-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return { storage: createStorage(createDisk()), folder };
}

const STORAGES: Readonly<Record<string, () => { readonly storage: Storage; readonly folder: string }>> = {
  'a disk': onRealDisk,
  'a simulated disk': () => ({ storage: createSimulatedDisk().storage, folder: '/data' }),
  'an object store': () => ({ storage: new SimulatedObjects().storage, folder: '/data' }),
};

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Written backwards, as the header of a checkpoint comes last. */
const textFile = (text: string, spool: string): PutOptions<{ readonly bytes: number }> => ({
  spool,
  write: async (file) => {
    const bytes = bytesOf(text);
    for (let at = bytes.length - 1; at >= 0; at--) await file.write(bytes.subarray(at, at + 1), at);
    return { bytes: bytes.length };
  },
});

async function textOf(storage: Storage, path: string): Promise<string> {
  return withFile(await storage.openRange(path), async (file) => {
    const into = new Uint8Array((await file.size()) + 5);
    return new TextDecoder().decode(into.subarray(0, await file.read(into, 0)));
  });
}

describe.each(Object.keys(STORAGES))('%s', (name) => {
  it('puts a file whole, in folders that it makes, and says its digest', async () => {
    const { storage, folder } = STORAGES[name]!();
    const path = `${folder}/a/b/file`;
    const { written, digest } = await storage.put(path, textFile('content', `${folder}/a/b/spool`));
    expect(written).toEqual({ bytes: 7 });
    expect(digest).toEqual({ bytes: 7, md5: createHash('md5').update('content').digest('hex') });
    expect(await textOf(storage, path)).toBe('content');
    expect(await storage.list(`${folder}/a/b`)).toEqual([{ name: 'file', kind: 'file' }]);
    await storage.put(path, textFile('other', `${folder}/a/b/spool`));
    expect(await textOf(storage, path)).toBe('other');
  });

  it('reads ranges', async () => {
    const { storage, folder } = STORAGES[name]!();
    await storage.put(`${folder}/file`, textFile('0123456789', `${folder}/spool`));
    await withFile(await storage.openRange(`${folder}/file`), async (file) => {
      const into = new Uint8Array(4);
      expect([await file.read(into, 3), ...into]).toEqual([4, ...bytesOf('3456')]);
      expect(await file.read(into, 8)).toBe(2);
      expect(await file.read(into, 20)).toBe(0);
    });
  });

  it('has nothing of a file that could not be written, and says why', async () => {
    const { storage, folder } = STORAGES[name]!();
    const write = async (): Promise<never> => Promise.reject(new Error('no more'));
    await expect(storage.put(`${folder}/file`, { spool: `${folder}/spool`, write })).rejects.toThrow('no more');
    expect(await storage.list(folder)).toEqual([]);
    await expect(storage.openRange(`${folder}/file`)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('leaves the file of before when the new one cannot be written', async () => {
    const { storage, folder } = STORAGES[name]!();
    await storage.put(`${folder}/file`, textFile('before', `${folder}/spool`));
    const write = async (): Promise<never> => Promise.reject(new Error('no more'));
    const options = { spool: `${folder}/spool`, replaces: true, write };
    await expect(storage.put(`${folder}/file`, options)).rejects.toThrow('no more');
    expect(await textOf(storage, `${folder}/file`)).toBe('before');
  });

  it('lists files and folders by name, and nothing where there is no folder', async () => {
    const { storage, folder } = STORAGES[name]!();
    for (const path of ['b', 'c/d', 'a'])
      await storage.put(`${folder}/${path}`, textFile('x', `${folder}/${path}.part`));
    expect(await storage.list(folder)).toEqual([
      { name: 'a', kind: 'file' },
      { name: 'b', kind: 'file' },
      { name: 'c', kind: 'folder' },
    ]);
    for (const path of ['none', 'a']) expect(await storage.list(`${folder}/${path}`)).toEqual([]);
  });

  it('deletes files, those that are missing, too, and folders only when nothing is in them', async () => {
    const { storage, folder } = STORAGES[name]!();
    await storage.put(`${folder}/a/file`, textFile('x', `${folder}/a/spool`));
    await storage.delete(`${folder}/a/`);
    expect(await textOf(storage, `${folder}/a/file`)).toBe('x');
    for (let times = 0; times < 2; times++) await storage.delete(`${folder}/a/file`);
    for (let times = 0; times < 2; times++) await storage.delete(`${folder}/a/`);
    expect(await storage.list(folder)).toEqual([]);
  });
});

describe('a disk that does not give back what it took', () => {
  async function refused(disk: ReturnType<typeof createSimulatedDisk>, why: RegExp): Promise<void> {
    const saving = disk.storage.put('/data/file', textFile('content', '/data/spool'));
    await expect(saving).rejects.toMatchObject({ code: 'CheckpointNotWritten', message: expect.stringMatching(why) });
    expect(disk.names('/data')).toEqual([]);
  }

  it('is told from a damaged file when the file has another size', async () => {
    const disk = createSimulatedDisk();
    await refused(Object.assign(disk, { md5: async () => ({ md5: '0'.repeat(32), bytes: 5 }) }), /read back 5/);
  });

  it('is told from a damaged file when the file cannot be read', async () => {
    const disk = createSimulatedDisk();
    disk.failNext('read', 'EIO');
    await refused(disk, /cannot be read/);
  });
});

it('a folder that is known and missing is not made again: its file system is not mounted', async () => {
  const disk = createSimulatedDisk();
  const put = disk.storage.put('/data/file', { ...textFile('x', '/data/spool'), isFolderKnown: true });
  await expect(put).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await disk.exists('/data')).toBe(false);
});
