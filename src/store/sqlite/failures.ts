/** What failed statements and system calls mean to the user of a SQLite store. */
import { accessSync, closeSync, constants, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { StoreTrouble } from '../store.ts';

export interface SqliteError extends Error {
  /** SQLite's extended result code. */
  readonly errcode: number;
}

export const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && (error as { code?: unknown }).code === 'ERR_SQLITE_ERROR';

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
/** Gave up after many attempts to begin a read: others held the locks all the time. */
const SQLITE_PROTOCOL = 15;
const SQLITE_NOTADB = 26;

/** The low byte is the primary code. */
const primaryCode = (error: SqliteError): number => error.errcode & 0xff;

export const isBusy = (error: SqliteError): boolean =>
  [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL].includes(primaryCode(error));

const KINDS: ReadonlyMap<number, StoreTrouble['kind']> = new Map([
  [SQLITE_FULL, 'full'],
  [SQLITE_READONLY, 'readOnly'],
  [SQLITE_IOERR, 'failing'],
  [SQLITE_CANTOPEN, 'failing'],
]);

/** The trouble with the disk that a failed statement shows; undefined when it shows none. */
export function troubleIn(path: string, error: SqliteError): StoreTrouble | undefined {
  const kind = KINDS.get(primaryCode(error));
  if (kind === 'failing' && isReadOnlyDisk(dirname(path))) return troubleOf('readOnly', path);
  if (primaryCode(error) === SQLITE_CANTOPEN && areDescriptorsUsedUp()) return troubleOf('openFiles', path);
  return kind && troubleOf(kind, path, error.message);
}

/** The file, `-wal`, `-shm` and the folder. */
const DESCRIPTORS_NEEDED = 4;

/** SQLite does not say why it cannot open a file. */
function areDescriptorsUsedUp(): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < DESCRIPTORS_NEEDED) opened.push(openSync('/dev/null', 'r'));
    return false;
  } catch (error) {
    return ['EMFILE', 'ENFILE'].includes(systemCode(error));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function isReadOnlyDisk(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return systemCode(error) === 'EROFS';
  }
}

/** `said`: what the system reported. */
export function troubleOf(kind: StoreTrouble['kind'], path: string, said = ''): StoreTrouble {
  const folder = dirname(path);
  switch (kind) {
    case 'full':
      return { kind, path, text: `the disk of ${folder} is full`, remedy: `free space in ${folder}` };
    case 'readOnly':
      return { kind, path, text: 'it is read-only', remedy: `make ${folder} writable` };
    case 'missing':
      return { kind, path, text: `the folder ${folder} is missing`, remedy: `put ${folder} back, or mount it` };
    case 'openFiles':
      return { kind, path, text: 'too many open files', remedy: 'raise the limit (ulimit -n 4096)' };
    case 'failing':
      return { kind, path, text: said, remedy: `check the disk of ${folder}` };
  }
}

/** The store may work again by itself: the caller waits. */
export function unavailable({ kind, path, text, remedy }: StoreTrouble, cause?: unknown): PaddletError {
  return new PaddletError('StoreUnavailable', `store ${path}: ${text}`, {
    hint: remedy,
    details: { why: text, kind, path },
    cause,
  });
}

/**
 * What a failed statement on an open file means to the caller. A wrong statement (SQLITE_ERROR and the like) is a bug,
 * thrown as it is.
 */
export function asStoreError(path: string, error: SqliteError): Error {
  if (isBusy(error)) return lockedTooLong(path, error);
  const trouble = troubleIn(path, error);
  if (trouble !== undefined) return unavailable(trouble, error);
  const isDamaged = [SQLITE_CORRUPT, SQLITE_NOTADB].includes(primaryCode(error));
  return isDamaged ? storeInvalid(path, error.message, error) : error;
}

export function lockedTooLong(path: string, cause: unknown): PaddletError {
  const why = 'locked by another process';
  return new PaddletError('StoreUnavailable', `store ${path}: ${why}`, { details: { why }, cause });
}

export function storeInvalid(path: string, why: string, cause?: unknown): PaddletError {
  return new PaddletError('StoreInvalid', `store ${path} cannot be used: ${why}`, { cause });
}

/** The code of one of Node's errors; empty for other errors. */
export const systemCode = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/** Bytes that a process without privileges may still write to the disk of the folder; 0 when it cannot be asked. */
export function freeBytesAt(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch (error) {
    if (systemCode(error) === '') throw error;
    return 0;
  }
}
