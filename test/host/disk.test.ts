import { createHash } from 'node:crypto';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDisk } from '../../src/host/disk.ts';

const disk = createDisk();
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paddlet-disk-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('writes at offsets and reads back, short only at the end', async () => {
  const path = join(folder, 'deep/er/file');
  await disk.makeFolder(join(folder, 'deep/er'));
  const file = await disk.create(path);
  await file.write(new Uint8Array([4, 5, 6]), 3);
  await file.write(new Uint8Array([1, 2, 3]), 0);
  await file.sync();
  expect(await file.size()).toBe(6);
  await file.close();
  await disk.syncFolder(join(folder, 'deep/er'));

  const again = await disk.open(path);
  const bytes = new Uint8Array(4);
  expect(await again.read(bytes, 4)).toBe(2);
  expect([...bytes]).toEqual([5, 6, 0, 0]);
  expect(await again.read(bytes, 6)).toBe(0);
  await again.close();
});

test.each([0, 5, 16 * 1024 * 1024 - 1, 20_000_001])(
  'MD5 of a file of %d bytes, large ones in a thread',
  async (bytes) => {
    const path = join(folder, 'file');
    const content = Buffer.alloc(bytes, 'any content');
    await writeFile(path, content);
    expect(await disk.md5!(path)).toEqual({ md5: createHash('md5').update(content).digest('hex'), bytes });
  },
);

test('MD5 of what cannot be read is a failure', async () => {
  await expect(disk.md5!(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(disk.md5!(folder)).rejects.toMatchObject({ code: 'EISDIR' });
});

test('creating empties what was there', async () => {
  const path = join(folder, 'file');
  for (const content of ['long content', 'short']) {
    const file = await disk.create(path);
    await file.write(new TextEncoder().encode(content), 0);
    await file.close();
  }
  const file = await disk.open(path);
  expect(await file.size()).toBe(5);
  await file.close();
});

test('renames, lists and removes; absent is fine', async () => {
  await (await disk.create(join(folder, 'a'))).close();
  await disk.rename(join(folder, 'a'), join(folder, 'b'));
  expect(await disk.list(folder)).toEqual(['b']);
  await disk.remove(join(folder, 'b'));
  await disk.remove(join(folder, 'b'));
  expect(await disk.list(folder)).toEqual([]);
});

test('removes a folder only when it is empty', async () => {
  const path = join(folder, 'some');
  await disk.makeFolder(path);
  await (await disk.create(join(path, 'a'))).close();
  await expect(disk.removeFolder(path)).rejects.toMatchObject({ code: 'ENOTEMPTY' });
  await disk.remove(join(path, 'a'));
  await disk.removeFolder(path);
  expect(await disk.exists(path)).toBe(false);
  await expect(disk.removeFolder(path)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('says what is there', async () => {
  const path = join(folder, 'a');
  expect(await disk.exists(path)).toBe(false);
  await (await disk.create(path)).close();
  expect(await disk.exists(path)).toBe(true);
  expect(await disk.exists(join(path, 'below-a-file'))).toBe(false);
  expect(await disk.inspect(path)).toMatchObject({ kind: 'file', bytes: 0 });
  expect(await disk.inspect(folder)).toMatchObject({ kind: 'folder' });
});

test('a folder where none can be made is an error, also in one that is there', async () => {
  await expect(disk.makeFolder('/proc/paddlet/deep')).rejects.toMatchObject({ code: 'ENOENT' });
  await (await disk.create(join(folder, 'a'))).close();
  await expect(disk.makeFolder(join(folder, 'a'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(disk.makeFolder(join(folder, 'a/b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  await disk.makeFolder(folder);
});

test("errors are Node's own", async () => {
  await expect(disk.open(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(disk.list(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(disk.create(join(folder, 'none/file'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a file that was touched is the same one with another time', async () => {
  const path = join(folder, 'file');
  await writeFile(path, 'x');
  await utimes(path, 1000, 1000);
  const before = await disk.inspect(path);
  expect(before?.modifiedMs).toBe(1_000_000);
  await disk.touch(path);
  const after = await disk.inspect(path);
  expect(after).toMatchObject({ kind: 'file', bytes: 1, inode: before!.inode });
  expect(after!.modifiedMs).toBeGreaterThan(before!.modifiedMs);
  expect(after!.changedMs).toBeGreaterThanOrEqual(before!.changedMs);
  await writeFile(`${path}.other`, 'x');
  expect((await disk.inspect(`${path}.other`))?.inode).not.toBe(before!.inode);
});
