/**
 * A log file of bounded size: `master.log`, and what it had before in `master.log.1`, the older in `master.log.2` and
 * so on. The process that appends to it makes room, by renames, so that no line is ever in two files or in none.
 */
import {
  appendFileSync,
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { LIMITS } from '../base/limits.ts';
import { fileLines, type WriteLine } from './outputs.ts';

/** `age` 0: the one that is written to. */
export const agedLog = (path: string, age: number): string => (age === 0 ? path : `${path}.${age}`);

export interface LogFile {
  readonly write: WriteLine;
  /** What it has now. Throws when it cannot be opened; `write` tries that again for each line. */
  open(): { readonly inode: number; readonly bytes: number };
  close(): void;
}

/** Appends lines to a file. One that has `mostBytes` or more gets no further line. */
export function logFile(path: string, mostBytes: number): LogFile {
  let descriptor: number | undefined;
  let isClosed = false;
  const opened = (): number => {
    descriptor ??= openSync(path, 'a');
    return descriptor;
  };
  const withRoom = (): number => {
    const before = opened();
    const { size, ino } = fstatSync(before);
    if (size < mostBytes) return before;
    try {
      // Unless another process that writes to it has done so.
      if (statSync(path, { throwIfNoEntry: false })?.ino === ino) makeRoom(path);
      descriptor = openSync(path, 'a');
    } catch {
      // No line is lost for that: the file grows.
      return before;
    }
    closeSync(before);
    return descriptor;
  };
  const write = fileLines(withRoom);
  return {
    write: (line) => {
      if (!isClosed) write(line);
    },
    open: () => {
      const { ino: inode, size: bytes } = fstatSync(opened());
      return { inode, bytes };
    },
    close: () => {
      isClosed = true;
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

function makeRoom(path: string): void {
  for (let age = LIMITS.oldLogFiles; age > 0; age--) {
    try {
      renameSync(agedLog(path, age - 1), agedLog(path, age));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

/** Set in a child that opens its own log: how large a file may become, and the path. */
export const OWN_LOG = 'PADDLET_LOG_FILE';

export const ownLogText = (path: string, mostBytes: number): string => `${mostBytes}:${path}`;

/** Undefined in a process that logs to stderr. To be called once: commands that this process starts have other logs. */
export function ownLogFile(): LogFile | undefined {
  const [, bytes, path] = /^(\d+):(.+)$/s.exec(process.env[OWN_LOG] ?? '') ?? [];
  delete process.env[OWN_LOG];
  return bytes === undefined || path === undefined ? undefined : logFile(path, Number(bytes));
}

/**
 * Where the output of a child goes that is no line of its log: its result, the error that ended it, the last words of a
 * crash. A descriptor of the log itself would write to a file that has been renamed, or removed, since.
 */
export const outputBeside = (path: string): string => `${path}.out`;

/** Appends that to the log, once the child has ended. Throws when the log cannot be opened or written. */
export function takeOutput(path: string, mostBytes: number): void {
  const output = outputBeside(path);
  const text = statSync(output, { throwIfNoEntry: false }) === undefined ? '' : readFileSync(output, 'utf8');
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= mostBytes) makeRoom(path);
  appendFileSync(path, text === '' || text.endsWith('\n') ? text : `${text}\n`);
  if (text !== '') truncateSync(output);
}

export const removeOutput = (path: string): void => rmSync(outputBeside(path), { force: true });
