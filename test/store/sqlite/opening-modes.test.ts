/** What opening a SQLite store creates, what it refuses, and where it waits. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store, StoreAccess } from '../../../src/store/store.ts';
import { StoreProcess } from '../store-process.ts';
import { failureOf, put, RecordingLog, SILENT } from '../support.ts';

let folder = '';
let path = '';
const opened: Store[] = [];

async function open(access?: StoreAccess, log = SILENT): Promise<Store> {
  const store = await openStore(`sqlite:${path}`, { clock: createClock(), log, ...(access && { access }) });
  opened.push(store);
  return store;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-modes-'));
  path = join(folder, 'store.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a store that is only read', () => {
  it.each(['read', 'write'] as const)('is not created (%s)', async (access) => {
    path = join(folder, 'nope/x.db');
    expect(await failureOf(open(access))).toMatchObject({
      code: 'JobUnknown',
      message: `no store at ${path}: the file is missing`,
    });
    expect(readdirSync(folder)).toEqual([]);
    path = join(folder, 'empty.db');
    writeFileSync(path, '');
    expect((await failureOf(open(access))).code).toBe('JobUnknown');
    expect(readdirSync(folder)).toEqual(['empty.db']);
  });

  it('is left as it is: no -wal, no -shm, not a byte changed', async () => {
    await put(await open(), '/a', '1');
    await opened.pop()!.close();
    const before = statSync(path, { bigint: true }).mtimeNs;
    const store = await open('read');
    expect((await store.get('/a'))?.value).toBe('1');
    expect((await store.range({ prefix: '/' })).entries).toHaveLength(1);
    expect(readdirSync(folder)).toEqual(['store.db']);
    await opened.pop()!.close();
    expect(readdirSync(folder)).toEqual(['store.db']);
    expect(statSync(path, { bigint: true }).mtimeNs).toBe(before);
  });

  it('shows what a live process wrote, and what a killed one did', async () => {
    const owner = new StoreProcess(`sqlite:${path}`, 'hold', ['/owner', '3600000']);
    await owner.until('held');
    expect((await (await open('read')).get('/owner'))?.value).toBe('owner');
    await owner.kill();
    const files = readdirSync(folder).sort();
    const store = await open('read');
    expect((await store.get('/owner'))?.value).toBe('owner');
    await Promise.all(opened.splice(0).map((one) => one.close()));
    expect(readdirSync(folder).sort()).toEqual(files);
  });
});

describe('a store that roles share', () => {
  it('is readable by its owner alone, with the files that SQLite puts beside it', async () => {
    await put(await open(), '/a', '1');
    const modes = readdirSync(folder).map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8));
    expect(modes).toEqual(['600', '600', '600']);
  });

  it('warns of a file that is open to others', async () => {
    await (await open()).close();
    const log = new RecordingLog();
    chmodSync(path, 0o640);
    await open('join', log);
    expect(log.messages).toEqual([expect.stringContaining(`chmod 600 ${path}`)]);
  });

  it('is not created in a folder that is missing: the folder may come back', async () => {
    path = join(folder, 'disk/store.db');
    const missing = { code: 'StoreUnavailable', details: { kind: 'missing', path } };
    expect(await failureOf(open('join'))).toMatchObject(missing);
    expect(readdirSync(folder)).toEqual([]);
    mkdirSync(join(folder, 'disk'));
    await open('join');
    expect(existsSync(path)).toBe(true);
  });

  it('waits for a folder that vanishes while it runs, and goes on when it comes back', async () => {
    path = join(folder, 'disk/store.db');
    const log = new RecordingLog();
    const store = await open('create', log);
    await put(store, '/a', '1');
    const { leaseId } = await store.leaseGrant(60_000);
    renameSync(join(folder, 'disk'), join(folder, 'away'));
    const missing = { code: 'StoreUnavailable', details: { kind: 'missing', path } };
    for (const call of [store.get('/a'), put(store, '/a', '2'), store.leaseKeepAlive(leaseId)]) {
      expect(await failureOf(call)).toMatchObject(missing);
    }
    expect(store.trouble?.()).toMatchObject(missing.details);
    const said = log.messages.filter((message) => message.startsWith(`store ${path}: `));
    expect(said).toEqual([expect.stringContaining(`the folder ${join(folder, 'disk')} is missing`)]);
    renameSync(join(folder, 'away'), join(folder, 'disk'));
    expect((await store.get('/a'))?.value).toBe('1');
    expect(await store.leaseKeepAlive(leaseId)).toEqual({ grantedTtlMs: 60_000 });
  });

  it('refuses a folder in the place of its file', async () => {
    mkdirSync(path);
    expect(await failureOf(open())).toMatchObject({
      code: 'StoreInvalid',
      message: expect.stringContaining('a folder'),
    });
  });
});

it('a read-only disk is waited for', async (context) => {
  await put(await open(), '/a', '1');
  await opened.pop()!.close();
  try {
    execFileSync('mount', ['--bind', folder, folder], { stdio: 'pipe' });
  } catch {
    return context.skip('this process may not mount');
  }
  try {
    execFileSync('mount', ['-o', 'remount,bind,ro', folder], { stdio: 'pipe' });
    const readOnly = { code: 'StoreUnavailable', details: { kind: 'readOnly', path } };
    expect(await failureOf(open('join'))).toMatchObject(readOnly);
    expect((await (await open('read')).get('/a'))?.value).toBe('1');
  } finally {
    execFileSync('umount', ['--lazy', folder]);
  }
});
