/**
 * One process at a time in a folder. The lock is the operating system's: it ends with its process, however that ends.
 * Node has no call for it, so it is that of an empty SQLite database, which is never written. No other code may open
 * the file: closing it would end the lock (fcntl(2)).
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { PaddletError } from '../base/errors.ts';

/** Those who only look hold the file for a moment. */
const LOOKED_AT_MS = 1_000;
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

const holderSchema = z.object({
  pid: z.int().min(1),
  /** ISO 8601. */
  started: z.string(),
  /** Name of the job that it works on. */
  job: z.string(),
  /** Where the part of its log starts that it wrote itself, in bytes. */
  logFrom: z.int().min(0),
  /** Number of the part of the log that it starts in. */
  logNumber: z.int().min(1).optional(),
  /** How it ended, unless it was killed. */
  ended: z
    .object({ exit: z.int(), code: z.string().optional(), message: z.string().optional(), hint: z.string().optional() })
    .optional(),
});
/** What the process that has the lock, or had it last, says of itself. */
export type Holder = z.infer<typeof holderSchema>;

export interface FolderLock {
  /** What the process that had the lock before said of itself. */
  readonly before: Holder | undefined;
  /** For others to read; undefined: nothing. A full disk may refuse it: then they do not learn it. */
  describe(holder: Holder | undefined): void;
  release(): void;
}

/** Undefined when another process has the lock. `SystemRefused` when the folder cannot be written to. */
export function lockFolder(folder: string): FolderLock | undefined {
  const db = openLock(folder, false);
  if (!tried(folder, db, () => db.exec('BEGIN EXCLUSIVE'))) return undefined;
  const before = lastHolder(folder);
  try {
    rmSync(describedIn(folder), { force: true });
  } catch (error) {
    db.close();
    throw refused(folder, error);
  }
  return {
    before,
    describe(holder) {
      if (holder === undefined) {
        rmSync(describedIn(folder), { force: true });
        return;
      }
      const partial = `${describedIn(folder)}.new`;
      try {
        writeFileSync(partial, JSON.stringify(holder));
        renameSync(partial, describedIn(folder));
      } catch {
        rmSync(partial, { force: true });
      }
    },
    release: () => db.close(),
  };
}

/** Whether a process has the lock now. */
export function isFolderLocked(folder: string): boolean {
  let db: DatabaseSync;
  try {
    db = openLock(folder, true);
  } catch {
    // There is no lock yet.
    return false;
  }
  const isFree = tried(folder, db, () => db.exec('SELECT count(*) FROM sqlite_schema'));
  if (isFree) db.close();
  return !isFree;
}

/** Undefined when it could not say, or did not yet. */
export function lastHolder(folder: string): Holder | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(readFileSync(describedIn(folder), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

const describedIn = (folder: string): string => join(folder, 'run.json');

function openLock(folder: string, readOnly: boolean): DatabaseSync {
  const path = join(folder, 'run.lock');
  try {
    return new DatabaseSync(path, { readOnly, timeout: readOnly ? 0 : LOOKED_AT_MS });
  } catch (error) {
    throw refused(folder, error);
  }
}

/** False, with the file closed, when another process has the lock. */
function tried(folder: string, db: DatabaseSync, statement: () => void): boolean {
  try {
    statement();
    return true;
  } catch (error) {
    db.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw refused(folder, error);
  }
}

function refused(folder: string, cause: unknown): PaddletError {
  const isFull = isDiskFull(cause);
  const why = isFull ? 'its disk is full' : (cause as Error).message;
  return new PaddletError('SystemRefused', `the folder ${folder} cannot be written to: ${why}`, {
    hint: isFull
      ? `free space in ${folder}, or choose another folder with --dir`
      : 'make the folder writable for this user, or choose another folder with --dir',
    cause,
  });
}

function isDiskFull(cause: unknown): boolean {
  const { code, errcode } = cause as { code?: string; errcode?: number };
  return code === 'ENOSPC' || code === 'EDQUOT' || errcode === SQLITE_FULL;
}
