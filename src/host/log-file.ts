/**
 * A log file of bounded size: `master.log`, and what it had before in `master.log.1`, `master.log.2` and so on, the
 * newest with the highest number. A number is given once, so that a reader knows a part by it. The process that appends
 * makes room, by names alone, so that no line is ever in two parts or in none.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { LIMITS } from '../base/limits.ts';
import { fileLines, type WriteLine } from './outputs.ts';

export const numberedLog = (path: string, number: number): string => `${path}.${number}`;

/** Numbers of the finished parts of the log, ascending; `names` are those in the folder of `path`. */
export function numbersIn(path: string, names: readonly string[]): number[] {
  const begin = `${basename(path)}.`;
  const ends = names.filter((name) => name.startsWith(begin)).map((name) => name.slice(begin.length));
  return ends
    .filter((end) => /^\d{1,15}$/.test(end))
    .map(Number)
    .sort((a, b) => a - b);
}

const oldNumbers = (path: string): number[] => numbersIn(path, readdirSync(dirname(path)));

export interface LogFile {
  readonly write: WriteLine;
  /**
   * The number that the part will have which is written to now, and what it has. Throws when it cannot be opened;
   * `write` tries that again for each line.
   */
  open(): { readonly number: number; readonly bytes: number };
  close(): void;
}

/** Appends lines to a file. One that has `mostBytes` or more gets no further line. */
export function logFile(path: string, mostBytes: number): LogFile {
  let descriptor: number | undefined;
  let isClosed = false;
  const opened = (): number => {
    if (descriptor === undefined) {
      removeSecondName(path);
      descriptor = openSync(path, 'a');
    }
    return descriptor;
  };
  const withRoom = (): number => {
    const before = opened();
    const { size, ino } = fstatSync(before);
    // Another process that writes to it may have made room.
    const isOther = statSync(path, { throwIfNoEntry: false })?.ino !== ino;
    if (size < mostBytes && !isOther) return before;
    try {
      if (!isOther) makeRoom(path);
      descriptor = openSync(path, 'a');
    } catch {
      // No line is lost for that: the file grows.
      return before;
    }
    close(before);
    return descriptor;
  };
  const write = fileLines(withRoom);
  return {
    write: (line) => {
      if (!isClosed) write(line);
    },
    open: () => {
      const bytes = fstatSync(opened()).size;
      return { number: (oldNumbers(path).at(-1) ?? 0) + 1, bytes };
    },
    close: () => {
      isClosed = true;
      if (descriptor !== undefined) close(descriptor);
      descriptor = undefined;
    },
  };
}

/** Network file systems may tell only then that the disk was full: a log stops nothing. */
function close(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // What was written is as it is.
  }
}

/**
 * Gives the file its number, which only one of several processes can: the others throw `EEXIST`, and go on with the
 * file that comes after it.
 */
function makeRoom(path: string): void {
  const numbers = oldNumbers(path);
  const last = numbers.at(-1) ?? 0;
  if (isSecondName(path, last)) return;
  const next = numberedLog(path, last + 1);
  try {
    linkSync(path, next);
    unlinkSync(path);
  } catch (error) {
    // A file system may have no second names.
    if (existsSync(next)) throw error;
    renameSync(path, next);
  }
  for (const number of numbers) if (number <= last + 1 - LIMITS.oldLogFiles) rmSync(numberedLog(path, number));
}

/**
 * Finishes the rotation of a process that was killed after it linked the numbered name and before it removed the old
 * one.
 */
function removeSecondName(path: string): void {
  if (existsSync(path) && isSecondName(path, oldNumbers(path).at(-1) ?? 0)) unlinkSync(path);
}

function isSecondName(path: string, number: number): boolean {
  const [one, other] = [path, numberedLog(path, number)].map((name) => statSync(name, { throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
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
 * File for the output of a child that is not a line of its log: its result, the error that ended it, the last words of
 * a crash. A descriptor of the log itself would write to a part that is full, or removed, since.
 */
export const outputBeside = (path: string): string => `${path}.out`;

/** Appends that, or the end of it, to the log. Throws when the log cannot be opened or written: then it stays. */
export function takeOutput(path: string, mostBytes: number): void {
  const text = endOf(outputBeside(path));
  if (text === undefined) return;
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= mostBytes) {
    try {
      makeRoom(path);
    } catch {
      // The file grows.
    }
  }
  if (text.length > 0) append(path, text);
  rmSync(outputBeside(path), { force: true });
}

/** Undefined if the file does not exist. */
function endOf(path: string): Buffer | undefined {
  if (!existsSync(path)) return undefined;
  const descriptor = openSync(path, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const text = Buffer.alloc(Math.min(size, LIMITS.childOutputBytes));
    return text.subarray(0, readSync(descriptor, text, 0, text.length, size - text.length));
  } finally {
    closeSync(descriptor);
  }
}

const NEWLINE = '\n'.charCodeAt(0);

/** As whole lines; all of it, or nothing. */
function append(path: string, text: Buffer): void {
  const descriptor = openSync(path, 'a+');
  try {
    const { size } = fstatSync(descriptor);
    const last = Buffer.alloc(1);
    const isCut = size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE;
    const whole = Buffer.concat([
      Buffer.from(isCut ? '\n' : ''),
      text,
      Buffer.from(text.at(-1) === NEWLINE ? '' : '\n'),
    ]);
    if (writeSync(descriptor, whole) === whole.length) return;
    ftruncateSync(descriptor, size);
    throw new Error(`${path}: the disk wrote only a part`);
  } finally {
    close(descriptor);
  }
}
