/**
 * The interfaces to the outside world. `src/host` has the real implementations; the simulation has its own.
 * Nothing outside `src/host` touches Date, timers, Math.random or the file system directly.
 */

/** Cancels what it was returned for; calling it again does nothing. */
export type Cancel = () => void;

export interface Clock {
  /** Milliseconds on a clock that only moves forward; its zero is arbitrary. */
  monotonicMs(): number;
  /** Seconds since 1970 with a fraction, as the seeds' keys carry them. For people, never for decisions. */
  wallSeconds(): number;
  /** Calls `fire` once, not before `delayMs` has passed. */
  after(delayMs: number, fire: () => void): Cancel;
  /** Milliseconds for which this thread has had nothing to do; missing where time is simulated. */
  idleMs?(): number;
}

/** Resolves in a later turn of the event loop. */
export const nextTurn = (clock: Clock): Promise<void> => new Promise((resolve) => clock.after(0, resolve));

export interface Random {
  /** A version 4 UUID. */
  uuid(): string;
  /** Uniform in [0, 1): for jitter only, never for values of the model. */
  fraction(): number;
}

export interface DiskFile {
  /** Writes all of `bytes` at `offset`. */
  write(bytes: Uint8Array, offset: number): Promise<void>;
  /** Reads up to `into.length` bytes from `offset`; the count read, short only at the end of the file. */
  read(into: Uint8Array, offset: number): Promise<number>;
  size(): Promise<number>;
  /** Returns when the file's content is on stable storage. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface FileFacts {
  readonly kind: 'file' | 'folder' | 'other';
  readonly bytes: number;
  /** Time of the last change in milliseconds since 1970: to notice a change, not to compare with a clock. */
  readonly modifiedMs: number;
  /** Time of the last change of content, name or rights, which no program can set. */
  readonly changedMs: number;
  /** Number of the file itself, whatever its name: a new file under the same name has another number. */
  readonly inode: number;
}

export interface FileDigest {
  /** Lower-case hexadecimal. */
  readonly md5: string;
  readonly bytes: number;
}

/** Files of the machine, by path. Errors are Node's own (`ENOENT`, `ENOSPC`, …), from the simulated disk too. */
export interface Disk {
  makeFolder(path: string): Promise<void>;
  create(path: string): Promise<DiskFile>;
  open(path: string): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  /** Makes renames, creations and removals in the folder durable. */
  syncFolder(path: string): Promise<void>;
  /** Removes a file; no error when it is missing. */
  remove(path: string): Promise<void>;
  /** Removes a folder that has nothing in it; otherwise an error (`ENOTEMPTY`), as when it is missing. */
  removeFolder(path: string): Promise<void>;
  list(path: string): Promise<string[]>;
  exists(path: string): Promise<boolean>;
  /** What is at the path (symbolic links followed), or undefined when there is nothing. */
  inspect(path: string): Promise<FileFacts | undefined>;
  /** Sets the time of the last change to now. */
  touch(path: string): Promise<void>;
  /** Bytes that files below the path may still take; undefined when the system does not tell. */
  freeBytes(path: string): Promise<number | undefined>;
  /** MD5 of a whole file, computed in another thread; missing where there is only one thread. */
  md5?(path: string): Promise<FileDigest>;
}

/** A file of a storage that is open for reading. */
export interface StoredFile {
  /** Reads up to `into.length` bytes from `offset`. Returns their number, which is less only at the end of the file. */
  read(into: Uint8Array, offset: number): Promise<number>;
  size(): Promise<number>;
  close(): Promise<void>;
  /** Returns the MD5 of the whole file, computed in another thread; missing where there is only one thread. */
  md5?(): Promise<FileDigest>;
}

export interface Listed {
  readonly name: string;
  readonly kind: 'file' | 'folder';
}

export interface PutOptions<T extends { readonly bytes: number }> {
  /** A path in the folder of the file. A storage that writes in that folder keeps the unfinished file there. */
  readonly spool: string;
  /** Writes the whole file, in any order, and returns its length among other things. */
  readonly write: (spool: DiskFile) => Promise<T>;
  /** The path may have a file. If the new one cannot be written, the old one stays. */
  readonly replaces?: boolean;
  /** Called with the length of the unfinished file if the disk did not take all of it. */
  readonly onFull?: ((bytes: number) => void) | undefined;
  /**
   * Something has been read from the folder, or put there: the folder is not made again. If it is missing, its file
   * system is not mounted, and a file written below would vanish when it is.
   */
  readonly isFolderKnown?: boolean;
  /** Ends the reading back. */
  readonly signal?: AbortSignal | undefined;
}

export interface Put<T> {
  readonly written: T;
  /** Size and MD5 of the whole file, as the storage read it back. */
  readonly digest: FileDigest;
}

/**
 * Where the files of models are: the operations that object stores have, too. A file is put whole and never changes.
 * Errors are those of `Disk`, and `CheckpointNotWritten` when a file cannot be read back as it was written.
 */
export interface Storage {
  /**
   * When this returns, the file is whole and durable. When it throws, the path has no file, or the file from before,
   * unless the error says that a file could not be removed. A process that dies leaves the whole file, or its spool, or
   * nothing.
   */
  put<T extends { readonly bytes: number }>(path: string, options: PutOptions<T>): Promise<Put<T>>;
  /** Throws `ENOENT` if the file is missing, `EISDIR` for a folder, and `EINVAL` for a pipe or device. */
  openRange(path: string): Promise<StoredFile>;
  /** Returns what is in a folder, sorted by name. A missing folder contains nothing. Spools may be among the files. */
  list(folder: string): Promise<readonly Listed[]>;
  /**
   * Removes a file; a missing file is no error. A path that ends in `/` means a folder, which is removed if it is
   * empty.
   */
  delete(path: string): Promise<void>;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Log {
  debug(message: string, facts?: Record<string, unknown>): void;
  info(message: string, facts?: Record<string, unknown>): void;
  warn(message: string, facts?: Record<string, unknown>): void;
  error(message: string, facts?: Record<string, unknown>): void;
}

/** Another thread of this process. */
export interface Thread {
  /** The memory in `moved` belongs to the thread from then on. */
  send(message: unknown, moved?: readonly ArrayBuffer[]): void;
  onMessage(run: (message: unknown) => void): void;
  /** It has failed or ended. */
  onEnd(run: (error: Error) => void): void;
  close(): Promise<void>;
}

/** A warning or an error that a process has logged. */
export interface LoggedError {
  /** Seconds since 1970. */
  readonly time: number;
  readonly level: 'warn' | 'error';
  /** The message and its facts. */
  readonly text: string;
}

export interface ShellEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** Commands of the user. */
export interface Shell {
  /**
   * Runs it to its end, in a folder, with these variables beside those of this process. Lines of both outputs go to
   * `onLine`, which is told from which. When the signal aborts, the command is asked to exit and later killed. Rejects
   * with Node's error when it cannot be started.
   */
  run(
    command: string,
    options: {
      readonly env: Readonly<Record<string, string>>;
      readonly folder: string;
      readonly onLine: (line: string, from: 'stdout' | 'stderr') => void;
      readonly signal: AbortSignal;
    },
  ): Promise<ShellEnd>;
}

/** What a process tells its parent of a lease: that it holds it from now on, or that it has ended it by itself. */
export interface ReportedLease {
  readonly leaseId: bigint;
  readonly state: 'held' | 'ended';
  readonly ttlMs: number;
}

/** What every role gets. */
export interface Host {
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: Disk;
  /** On this machine, for now. */
  readonly storage: Storage;
  readonly log: Log;
}
