/**
 * Opens the file of a SQLite store: checks that it is a paddlet store on this machine's disk, and creates its tables.
 */
import { randomUUID } from 'node:crypto';
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { pause } from '../../base/backoff.ts';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Clock } from '../../base/seams.ts';
import type { StoreAccess } from '../store.ts';
import {
  asStoreError,
  isBusy,
  isSqliteError,
  lockedTooLong,
  type SqliteError,
  storeInvalid,
  systemCode,
  troubleOf,
  unavailable,
} from './failures.ts';

/** "PDLT": marks the file as a paddlet store. */
const APPLICATION_ID = 0x50444c54;
/**
 * Version of the tables (docs/store-keys.md, "The SQLite file"), not of the keys in them. Kept in `PRAGMA
 * user_version`.
 */
const LAYOUT_VERSION = 2;
/** How long one statement may block this process on a lock; longer waits happen between turns of the event loop. */
const LOCK_WAIT_MS = 10;
const OPEN_LIMIT_MS = 5_000;
const OPEN_RETRY_MS = 20;
/** For its owner alone: a program that can write to the file controls the job. */
const PRIVATE_MODE = 0o600;
/** Failures to create a file or a folder that may pass. */
const TRANSIENT: ReadonlySet<string> = new Set(['EDQUOT', 'EIO', 'ENOMEM', 'ESTALE']);

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
  readonly isReadOnly: boolean;
}

/**
 * Waits for other processes that are opening the file too. `VersionMismatch` for a file of another layout version,
 * `StoreInvalid` for one that cannot be used, `JobUnknown` for one that is missing and not to be created,
 * `StoreUnavailable` where waiting may help.
 */
export async function openSqliteFile(path: string, clock: Clock, access: StoreAccess = 'create'): Promise<SqliteFile> {
  prepareFile(path, access);
  const limitMs = clock.monotonicMs() + OPEN_LIMIT_MS;
  for (;;) {
    try {
      return access === 'read' ? tryReading(path) : tryOpen(path, access);
    } catch (error) {
      if (!isSqliteError(error)) throw error;
      if (!isBusy(error)) throw openFailure(path, error);
      if (clock.monotonicMs() >= limitMs) throw lockedTooLong(path, error);
    }
    await pause(clock, OPEN_RETRY_MS);
  }
}

function prepareFile(path: string, access: StoreAccess): void {
  const folder = dirname(path);
  const isCreated = access === 'create' || access === 'join';
  if (access === 'create') attempt(path, () => mkdirSync(folder, { recursive: true }));
  if (isCreated && !existsSync(folder)) throw unavailable(troubleOf('missing', path));
  if (!isCreated && !existsSync(path)) throw noStore(path, 'the file is missing');
  const network = networkFileSystem(statfsSync(folder).type);
  if (network !== undefined) {
    throw new PaddletError('StoreInvalid', `store ${path} is on a network file system (${network})`, {
      hint: 'put the store on a local disk; for a job on several machines, use an etcd:// store',
    });
  }
  if (isCreated) attempt(path, () => createPrivately(path));
}

/** SQLite gives its other files the mode of this one. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_MODE));
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

function attempt(path: string, make: () => void): void {
  try {
    make();
  } catch (error) {
    const { message } = error as Error;
    const code = systemCode(error);
    if (code === 'ENOSPC') throw unavailable(troubleOf('full', path), error);
    if (code === 'EROFS') throw unavailable(troubleOf('readOnly', path), error);
    if (code === 'EMFILE' || code === 'ENFILE') throw unavailable(troubleOf('openFiles', path), error);
    if (TRANSIENT.has(code)) throw unavailable(troubleOf('failing', path, message), error);
    throw new PaddletError('StoreInvalid', `store ${path} cannot be created: ${message}`, {
      cause: error,
      hint: 'choose another folder for the store, or make this folder accessible to this user',
    });
  }
}

/** Waiting may help, unless the path or its permissions are wrong. */
function openFailure(path: string, error: SqliteError): Error {
  const failure = asStoreError(path, error);
  if (!isPaddletError(failure, 'StoreUnavailable')) {
    return isPaddletError(failure) ? failure : storeInvalid(path, error.message, error);
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return storeInvalid(path, 'it is a folder');
  for (const needed of [dirname(path), path]) {
    if (isForbidden(needed)) return forbidden(path, needed, error);
  }
  return failure;
}

const forbidden = (path: string, needed: string, cause: unknown): PaddletError =>
  new PaddletError('StoreInvalid', `store ${path} cannot be used: permission denied for ${needed}`, {
    hint: `run paddlet as the user who owns the store, or make ${needed} readable and writable for this user`,
    cause,
  });

function isForbidden(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return false;
  } catch (error) {
    return ['EACCES', 'EPERM'].includes(systemCode(error));
  }
}

/** The name of the network file system with this statfs type, or undefined for a local one. */
export const networkFileSystem = (type: number): string | undefined => NETWORK_FILE_SYSTEMS.get(type >>> 0);

/**
 * Temporary files are kept in memory: where only the folder of the store can be written to, as in a container with a
 * read-only root, SQLite finds no folder for them. None is larger than the transaction or the result that it is for.
 */
function connect(path: string | URL, readOnly: boolean): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: LOCK_WAIT_MS, readOnly });
  db.exec('PRAGMA temp_store = MEMORY');
  return db;
}

function tryOpen(path: string, access: StoreAccess): SqliteFile {
  const db = connect(path, false);
  try {
    // In one transaction: another process may create the tables between two reads.
    db.exec('BEGIN');
    const found = checkOurs(db, path);
    db.exec('COMMIT');
    if (found === 'empty' && access === 'write') throw noStore(path, 'the file is empty');
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    db.exec('BEGIN IMMEDIATE');
    // Checked again under the lock: another process may have been first.
    if (checkOurs(db, path) === 'empty') createTables(db);
    db.exec('COMMIT');
    return opened(db, path, false);
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Reads without creating anything. SQLite would make the files `-wal` and `-shm` and leave them behind, unless it knows
 * that no process changes the file, as is the case while there is no `-wal`, and enough for commands that read once.
 */
function tryReading(path: string): SqliteFile {
  const url = pathToFileURL(path);
  if (!existsSync(`${path}-wal`)) url.searchParams.set('immutable', '1');
  const db = connect(url, true);
  try {
    if (checkOurs(db, path) === 'empty') throw noStore(path, 'the file is empty');
    return opened(db, path, true);
  } catch (error) {
    db.close();
    throw error;
  }
}

function opened(db: DatabaseSync, path: string, isReadOnly: boolean): SqliteFile {
  const { cluster_id } = db.prepare('SELECT cluster_id FROM meta').get() as { cluster_id: string };
  return { db, path, clusterId: cluster_id, fileId: fileIdOf(path) ?? 'gone', isReadOnly };
}

const noStore = (path: string, why: string): PaddletError =>
  new PaddletError('JobUnknown', `no store at ${path}: ${why}`, {
    hint: 'check --store or --dir; `paddlet run JOB` or the first role of a job creates the store',
  });

function checkOurs(db: DatabaseSync, path: string): 'empty' | 'ours' {
  const { application_id } = db.prepare('PRAGMA application_id').get() as { application_id: number };
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (tables === 0 && application_id === 0) return 'empty';
  if (application_id !== APPLICATION_ID) throw storeInvalid(path, 'the file is a database of another program');
  if (user_version !== LAYOUT_VERSION) throw otherLayout(path, user_version);
  return 'ours';
}

const otherLayout = (path: string, version: number): PaddletError =>
  new PaddletError(
    'VersionMismatch',
    `expected layout version ${LAYOUT_VERSION} of store ${path}, got version ${version}`,
    {
      hint: 'finish the jobs in this store with the paddlet version that made it, or delete the file to start the jobs over',
      details: { found: version, expected: LAYOUT_VERSION },
    },
  );

function createTables(db: DatabaseSync): void {
  db.exec(SCHEMA);
  // etcd starts at revision 1 as well.
  db.prepare('INSERT INTO meta VALUES (1, ?, 1, 0)').run(randomUUID());
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${LAYOUT_VERSION}`);
}

/**
 * Device and inode of what is at the path; undefined when nothing is. `StoreUnavailable` when that cannot be found out.
 */
export function fileIdOf(path: string): string | undefined {
  try {
    const stat = statSync(path, { bigint: true });
    return `${stat.dev}:${stat.ino}`;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(systemCode(error)))
      throw unavailable(troubleOf('failing', path, String(error)));
    if (!existsSync(dirname(path))) throw unavailable(troubleOf('missing', path));
    return undefined;
  }
}

/** True when other users may read or write the file. */
export const isOpenToOthers = (path: string): boolean => (statSync(path).mode & 0o077) !== 0;
