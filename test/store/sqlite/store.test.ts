import { copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { networkFileSystem } from '../../../src/store/sqlite/file.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';
import { ROOT } from '../../source-files.ts';
import { failureOf, put, SILENT, WatchRecorder } from '../support.ts';

const clock = createClock();
let folder = '';
let path = '';
const opened: SqliteStore[] = [];

async function open(history?: { events: number; bytes: number }): Promise<SqliteStore> {
  const common = { path, url: `sqlite:${path}`, clock, log: SILENT };
  const store = await openSqliteStore(history === undefined ? common : { ...common, history });
  opened.push(store);
  return store;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-sqlite-'));
  path = join(folder, 'store.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  rmSync(folder, { recursive: true });
});

describe('SqliteStore, its file', () => {
  it('keeps everything when it is closed and opened again', async () => {
    const first = await open();
    const { revision } = await put(first, '/a', '1');
    const { leaseId } = await first.leaseGrant(60_000);
    const { clusterId } = await first.identity();
    await first.close();
    const second = await open();
    expect(await second.identity()).toEqual({ clusterId, revision });
    expect(await second.leaseKeepAlive(leaseId)).toEqual({ grantedTtlMs: 60_000 });
    expect((await put(second, '/b', '2')).revision).toBe(revision + 1n);
    const watch = new WatchRecorder(second, '/', revision);
    await watch.until((story) => story.length === 2);
    expect(watch.story).toEqual(['/a=1', '/b=2']);
  });

  it('can be opened by many at once when it does not exist yet', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => open()));
    const identities = await Promise.all(stores.map((store) => store.identity()));
    expect(new Set(identities.map((identity) => identity.clusterId)).size).toBe(1);
  });

  it('refuses what is no store of ours, and leaves it alone', async () => {
    writeFileSync(path, 'not a database, but long enough to be one'.repeat(100));
    expect((await failureOf(open())).code).toBe('StoreInvalid');
    rmSync(path);
    const foreign = new DatabaseSync(path);
    foreign.exec('CREATE TABLE theirs (a)');
    foreign.close();
    expect(await failureOf(open())).toMatchObject({
      code: 'StoreInvalid',
      message: expect.stringContaining('another program'),
    });
    rmSync(path);
  });

  it('refuses a newer layout, naming both versions', async () => {
    await (await open()).close();
    const newer = new DatabaseSync(path);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    const message = `expected layout version 2 of store ${path}, got version 99`;
    expect(await failureOf(open())).toMatchObject({ code: 'VersionMismatch', message });
  });

  it('refuses the file of an older paddlet, naming both versions, and leaves it alone', async () => {
    const golden = readFileSync(join(ROOT, 'test/golden/store/v1-store.db'));
    writeFileSync(path, golden);
    expect(await failureOf(open())).toMatchObject({
      code: 'VersionMismatch',
      message: `expected layout version 2 of store ${path}, got version 1`,
      details: { found: 1, expected: 2 },
    });
    expect(readFileSync(path).equals(golden)).toBe(true);
    expect(readdirSync(folder)).toEqual(['store.db']);
  });

  it('takes no value of another type, as a program in another language might write', async () => {
    await (await open()).close();
    const db = new DatabaseSync(path);
    const insert = db.prepare("INSERT INTO entry VALUES ('/a', ?, 2, 2, 0)");
    expect(() => insert.run(Buffer.from('bytes'))).toThrow('cannot store BLOB');
    db.close();
  });

  it('refuses a folder that cannot be made', async () => {
    writeFileSync(join(folder, 'file'), '');
    path = join(folder, 'file/store.db');
    expect((await failureOf(open())).code).toBe('StoreInvalid');
  });

  it('knows network file systems by their statfs type', () => {
    expect(networkFileSystem(0x6969)).toBe('NFS');
    // Some platforms hand the type out as a signed number.
    expect(networkFileSystem(0xff534d42 | 0)).toBe('CIFS');
    expect(networkFileSystem(0xef53)).toBeUndefined();
  });

  it.each(['removed', 'replaced'] as const)(
    'notices that it was %s, and is not taken for an empty one',
    async (how) => {
      const store = await open();
      await put(store, '/a', '1');
      const watch = new WatchRecorder(store, '/', 1n);
      renameSync(path, `${path}.old`);
      if (how === 'replaced') await open();
      expect((await failureOf(store.get('/a'))).code).toBe('StoreReplaced');
      expect((await failureOf(put(store, '/a', '2'))).code).toBe('StoreReplaced');
      expect(await watch.ended).toMatchObject({ code: 'StoreReplaced' });
      expect((await failureOf(store.leaseKeepAlive(1n))).code).toBe('StoreReplaced');
    },
  );

  it('notices that it was put back to an earlier state', async () => {
    const first = await open();
    await put(first, '/a', '1');
    await first.close();
    copyFileSync(path, `${path}.backup`);
    const store = await open();
    await put(store, '/a', '2');
    await put(store, '/a', '3');
    const watch = new WatchRecorder(store, '/', 1n);
    await watch.until((story) => story.includes('/a=3'));
    const backup = new DatabaseSync(`${path}.backup`);
    const old = backup.prepare('SELECT revision FROM meta').get() as { revision: number };
    backup.close();
    // As a restore by SQLite's own tools would: the same file, with earlier content.
    const db = new DatabaseSync(path, { timeout: 5_000 });
    db.exec(`UPDATE meta SET revision = ${old.revision}`);
    db.close();
    expect(await watch.ended).toMatchObject({ code: 'StoreReplaced' });
  });
});

describe('SqliteStore, its transactions', () => {
  it('keeps transactions that are committed together apart: one fails, the others hold', async () => {
    const store = await open();
    const { leaseId } = await store.leaseGrant(60_000);
    await store.leaseRevoke(leaseId);
    const { revision } = await store.identity();
    const bad = store.txn({
      if: [],
      then: [
        { put: '/bad/1', value: '' },
        { put: '/bad/2', value: '', leaseId },
      ],
    });
    const outcomes = await Promise.allSettled([put(store, '/a', '1'), bad, put(store, '/b', '2')]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await store.range({ prefix: '/' })).entries.map((entry) => [entry.key, entry.modRevision])).toEqual([
      ['/a', revision + 1n],
      ['/b', revision + 2n],
    ]);
  });

  it('answers StoreUnavailable when another process holds the lock for too long, and recovers', async () => {
    const store = await open();
    await put(store, '/a', '1');
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    expect((await failureOf(put(store, '/a', '2'))).code).toBe('StoreUnavailable');
    // Readers continue.
    expect((await store.get('/a'))?.value).toBe('1');
    const waiting = put(store, '/a', '3');
    other.exec('COMMIT');
    other.close();
    expect((await waiting).succeeded).toBe(true);
    expect((await store.get('/a'))?.value).toBe('3');
  });

  it('bounds its history, and ends watches that fall behind it', async () => {
    const store = await open({ events: 100, bytes: 1_000_000 });
    await put(store, '/a', 'first');
    for (let i = 0; i < 600; i++) await put(store, '/a', `${i}`);
    const late = new WatchRecorder(store, '/', 2n);
    expect(await late.ended).toMatchObject({ code: 'StoreCompacted' });
    const db = new DatabaseSync(path, { readOnly: true });
    const { events } = db.prepare('SELECT count(*) AS events FROM event').get() as { events: number };
    db.close();
    expect(events).toBeLessThanOrEqual(100 + 256);
    const { revision } = await store.identity();
    const watch = new WatchRecorder(store, '/', revision - 50n);
    await watch.until((story) => story.length === 51);
  });

  it('bounds the bytes of its history', async () => {
    const store = await open({ events: 1_000_000, bytes: 100_000 });
    const value = 'x'.repeat(10_000);
    for (let i = 0; i < 300; i++) await put(store, '/a', value);
    const db = new DatabaseSync(path, { readOnly: true });
    const { bytes } = db.prepare('SELECT sum(bytes) AS bytes FROM event').get() as { bytes: number };
    db.close();
    expect(bytes).toBeLessThanOrEqual(100_000 + 256 * 11_000);
    expect(bytes).toBeLessThan(300 * 10_000);
  });
});
