/**
 * Opens the file of a SQLite store: checks that it is a paddlet store on this machine's disk, and creates its tables.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pause } from '../../base/backoff.ts';
import { PaddletError } from '../../base/errors.ts';
import type { Clock } from '../../base/seams.ts';

/** "PDLT": marks the file as a paddlet store. */
const APPLICATION_ID = 0x50444c54;
/** Of the tables (docs/store-keys.md, "The SQLite file"), not of the keys in them. Kept in `PRAGMA user_version`. */
const LAYOUT_VERSION = 2;
/** How long one statement may block this process on a lock; longer waits happen between turns of the event loop. */
const LOCK_WAIT_MS = 10;
const OPEN_LIMIT_MS = 5_000;
const OPEN_RETRY_MS = 20;

/** File systems that are shared between machines (statfs(2)): there, locks and shared memory cannot be relied on. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0x20030528, 'PVFS2'],
  [0x7461636f, 'OCFS2'],
  [0x01161970, 'GFS2'],
]);

/**
 * `value` null marks a deletion in `event`; revisions and sequence numbers are given by the writer. STRICT: programs in
 * other languages use the file too, and none can leave a value of a type that the others do not expect.
 */
const SCHEMA = `
  CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1), cluster_id TEXT NOT NULL,
    revision INTEGER NOT NULL, compacted INTEGER NOT NULL) STRICT;
  CREATE TABLE entry (
    key TEXT NOT NULL UNIQUE, value TEXT NOT NULL,
    create_revision INTEGER NOT NULL, mod_revision INTEGER NOT NULL, lease_id INTEGER NOT NULL) STRICT;
  CREATE INDEX entry_lease ON entry (lease_id) WHERE lease_id <> 0;
  CREATE TABLE lease (
    id INTEGER PRIMARY KEY AUTOINCREMENT, ttl_ms REAL NOT NULL, renewals INTEGER NOT NULL) STRICT;
  CREATE TABLE event (
    revision INTEGER NOT NULL, seq INTEGER NOT NULL, key TEXT NOT NULL, value TEXT,
    create_revision INTEGER NOT NULL, lease_id INTEGER NOT NULL, bytes INTEGER NOT NULL,
    UNIQUE (revision, seq)) STRICT;
`;

export interface SqliteFile {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly clusterId: string;
  /** Device and inode: tells whether the path still leads to this file. */
  readonly fileId: string;
}

/**
 * Waits for other processes that are opening the file too. `VersionMismatch` for a file of another layout version,
 * `StoreInvalid` for one that cannot be used.
 */
export async function openSqliteFile(path: string, clock: Clock): Promise<SqliteFile> {
  prepareFolder(path);
  const limitMs = clock.monotonicMs() + OPEN_LIMIT_MS;
  for (;;) {
    try {
      return tryOpen(path);
    } catch (error) {
      if (!isSqliteError(error)) throw error;
      if (!isBusy(error)) throw storeInvalid(path, error.message, error);
      if (clock.monotonicMs() >= limitMs) throw lockedTooLong(path, error);
    }
    await pause(clock, OPEN_RETRY_MS);
  }
}

function prepareFolder(path: string): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw storeInvalid(path, `its folder cannot be made: ${(error as Error).message}`, error);
  }
  const network = networkFileSystem(statfsSync(folder).type);
  if (network === undefined) return;
  throw new PaddletError('StoreInvalid', `store ${path} is on a network file system (${network})`, {
    hint: 'put it on a local disk; for several machines use etcd://',
  });
}

/** The name of the network file system with this statfs type, or undefined for a local one. */
export const networkFileSystem = (type: number): string | undefined => NETWORK_FILE_SYSTEMS.get(type >>> 0);

function tryOpen(path: string): SqliteFile {
  const db = new DatabaseSync(path, { timeout: LOCK_WAIT_MS });
  try {
    // In one transaction: another process may create the tables between two reads.
    db.exec('BEGIN');
    checkOurs(db, path);
    db.exec('COMMIT');
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    db.exec('BEGIN IMMEDIATE');
    // Checked again under the lock: another process may have been first.
    if (checkOurs(db, path) === 'empty') createTables(db);
    db.exec('COMMIT');
    const { cluster_id } = db.prepare('SELECT cluster_id FROM meta').get() as { cluster_id: string };
    return { db, path, clusterId: cluster_id, fileId: fileIdOf(path) ?? 'gone' };
  } catch (error) {
    db.close();
    throw error;
  }
}

function checkOurs(db: DatabaseSync, path: string): 'empty' | 'ours' {
  const { application_id } = db.prepare('PRAGMA application_id').get() as { application_id: number };
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (tables === 0 && application_id === 0) return 'empty';
  if (application_id !== APPLICATION_ID) throw storeInvalid(path, 'it is a database of another program');
  if (user_version !== LAYOUT_VERSION) throw otherLayout(path, user_version);
  return 'ours';
}

const otherLayout = (path: string, version: number): PaddletError =>
  new PaddletError(
    'VersionMismatch',
    `store ${path} has layout version ${version}, this executable reads version ${LAYOUT_VERSION}`,
    {
      hint: 'finish its jobs with the paddlet version that made the file, or delete it to start them over',
      details: { found: version, expected: LAYOUT_VERSION },
    },
  );

function createTables(db: DatabaseSync): void {
  db.exec(SCHEMA);
  // etcd starts at revision 1 as well.
  db.prepare('INSERT INTO meta VALUES (1, ?, 1, 0)').run(randomUUID());
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${LAYOUT_VERSION}`);
}

/** Device and inode of what is at the path; undefined when nothing is. */
export function fileIdOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}

export interface SqliteError extends Error {
  /** SQLite's extended result code. */
  readonly errcode: number;
}

export const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && (error as { code?: unknown }).code === 'ERR_SQLITE_ERROR';

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
/** Gave up after many attempts to begin a read: others held the locks all the time. */
const SQLITE_PROTOCOL = 15;

/** The low byte is the primary code. */
const primaryCode = (error: SqliteError): number => error.errcode & 0xff;

export const isBusy = (error: SqliteError): boolean =>
  [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL].includes(primaryCode(error));

/**
 * What a failed statement means to the caller. A wrong statement (SQLITE_ERROR and the like) is a bug, thrown as it is.
 */
export function asStoreError(path: string, error: SqliteError): Error {
  const code = primaryCode(error);
  if (isBusy(error)) return lockedTooLong(path, error);
  if (code === SQLITE_FULL) {
    return new PaddletError('StoreUnavailable', `store ${path}: the disk is full`, {
      hint: 'free space',
      cause: error,
    });
  }
  if (code === SQLITE_IOERR) {
    return new PaddletError('StoreUnavailable', `store ${path}: ${error.message}`, { cause: error });
  }
  // 8 READONLY, 11 CORRUPT, 14 CANTOPEN, 26 NOTADB
  if ([8, 11, 14, 26].includes(code)) return storeInvalid(path, error.message, error);
  return error;
}

export const lockedTooLong = (path: string, cause: unknown): PaddletError =>
  new PaddletError('StoreUnavailable', `store ${path} is locked by another process`, { cause });

function storeInvalid(path: string, why: string, cause?: unknown): PaddletError {
  return new PaddletError('StoreInvalid', `store ${path} cannot be used: ${why}`, { cause });
}
