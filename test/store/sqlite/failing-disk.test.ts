/** A disk that fills, on the connections of several processes: SQLite's own limit of pages makes it fail at will. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepLease } from '../../../src/store/lease-keeper.ts';
import { openSqliteFile, type SqliteFile } from '../../../src/store/sqlite/file.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { FakeClock, failureOf, put, RecordingLog, WatchRecorder } from '../support.ts';

const TTL_MS = 1_000;

interface Process {
  readonly file: SqliteFile;
  readonly store: SqliteStore;
  readonly log: RecordingLog;
}

let folder = '';
let path = '';
let clock: FakeClock;
let processes: Process[] = [];

async function start(): Promise<Process> {
  const file = await openSqliteFile(path, clock);
  const log = new RecordingLog();
  const one = { file, store: new SqliteStore(file, { path, url: `sqlite:${path}`, clock, log }), log };
  processes.push(one);
  return one;
}

const CHANGES = ['INSERT ON entry', 'INSERT ON lease', 'UPDATE ON lease', 'DELETE ON lease', 'UPDATE ON meta'];

/** From now on each change needs a page more than the file may have. An empty transaction still succeeds. */
function fill({ db }: SqliteFile): void {
  const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${pages}`);
  for (const [at, change] of CHANGES.entries()) {
    db.exec(`CREATE TEMP TRIGGER full${at} BEFORE ${change} BEGIN
      INSERT INTO event VALUES (-1, 0, '/filler', hex(zeroblob(500000)), 0, 0, 0); END`);
  }
}

function freeUp({ db }: SqliteFile): void {
  db.exec('PRAGMA max_page_count = 1000000');
  for (const at of CHANGES.keys()) db.exec(`DROP TRIGGER full${at}`);
}

const fillAll = (): void => processes.forEach(({ file }) => void fill(file));
const freeAll = (): void => processes.forEach(({ file }) => void freeUp(file));

async function settled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await clock.advance(0);
  await clock.advance(100);
  return promise;
}

async function hold(store: SqliteStore, key: string): Promise<string[]> {
  const sentAtMs = clock.monotonicMs();
  const grant = await settled(store.leaseGrant(TTL_MS));
  await settled(put(store, key, 'owner', grant.leaseId));
  const story: string[] = [];
  keepLease({
    ...{ store, clock, sentAtMs, ...grant },
    onSuspend: () => story.push('suspended'),
    onResume: () => story.push('resumed'),
    onLost: (error) => story.push(error.code),
  });
  return story;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-failing-disk-'));
  path = join(folder, 'store.db');
  clock = new FakeClock();
});
afterEach(async () => {
  for (const { store } of processes) await store.close();
  processes = [];
  rmSync(folder, { recursive: true });
});

describe('SqliteStore on a full disk', () => {
  it.each([2_500, 3_370])('ends no lease of a live owner when there is room after %i ms', async (ms) => {
    const owners = [await start(), await start(), await start()];
    const stories: string[][] = [];
    for (const [at, { store }] of owners.entries()) stories.push(await hold(store, `/owner/${at}`));
    fillAll();
    await clock.advance(ms);
    freeAll();
    await clock.advance(3 * TTL_MS);
    expect(stories).toEqual(owners.map(() => ['suspended', 'resumed']));
  });

  it('ends the lease of an owner that died while the disk was full', async () => {
    const [dead, observer] = [await start(), await start()];
    const { leaseId } = await settled(dead.store.leaseGrant(TTL_MS));
    await settled(put(dead.store, '/owner', 'dead', leaseId));
    const watch = new WatchRecorder(observer.store, '/owner', 1n);
    fillAll();
    await clock.advance(3 * TTL_MS);
    expect(watch.story).toEqual(['/owner=dead']);
    freeAll();
    await clock.advance(2 * TTL_MS);
    expect(watch.story).toEqual(['/owner=dead', '-/owner']);
  });

  it('answers StoreUnavailable, says where, and works again when there is room', async () => {
    const { store, file, log } = await start();
    await settled(put(store, '/a', '1'));
    expect(store.trouble()).toBeUndefined();
    fill(file);
    const error = await failureOf(settled(put(store, '/a', '2')));
    const details = { kind: 'full', path };
    expect(error).toMatchObject({ code: 'StoreUnavailable', details, hint: expect.stringContaining(folder) });
    expect(error.message).toContain(`the disk of ${folder} is full`);
    expect(store.trouble()).toMatchObject(details);
    expect(log.messages).toEqual([expect.stringContaining(`the disk of ${folder} is full`)]);
    expect((await settled(store.get('/a')))?.value).toBe('1');
    freeUp(file);
    await clock.advance(5_000);
    expect(store.trouble()).toBeUndefined();
    expect(log.messages.slice(1)).toEqual([expect.stringContaining('is writable again')]);
    await settled(put(store, '/a', '3'));
    expect((await settled(store.get('/a')))?.value).toBe('3');
  });
});
