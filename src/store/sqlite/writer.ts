/**
 * Group commit: writes that are requested in the same turn of the event loop share one SQLite transaction, and
 * so one fsync. Each has its own savepoint: it applies whole or not at all, and makes its own revision.
 */
import type { DatabaseSync } from 'node:sqlite';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Cancel, Clock } from '../../base/seams.ts';
import { isBusy, isSqliteError, lockedTooLong, type SqliteError } from './failures.ts';
import type { HistoryLimits, SqliteTables, WritePosition } from './tables.ts';

const CALL_LIMIT_MS = 2_000;
const LOCK_RETRY_MS = 3;
const QUEUE_LIMIT = 10_000;
const GROUP_LIMIT = 256;
/** History is trimmed after this many revisions of this process, so it exceeds its limits by at most as many. */
const REVISIONS_PER_TRIM = 256n;

interface Write {
  readonly run: (at: WritePosition) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly limitMs: number;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

export interface SqliteWriterOptions {
  readonly db: DatabaseSync;
  readonly tables: SqliteTables;
  readonly path: string;
  readonly clock: Clock;
  readonly history: HistoryLimits;
  /** Throws what every call is to answer when the file is no longer the one that was opened. */
  readonly checkFile: () => void;
  /** What a failed statement means to the caller. */
  readonly failureOf: (error: SqliteError) => unknown;
  /** The disk refused a write, or it is unknown whether it did. */
  readonly onFailed: (error: unknown) => void;
  readonly onCommitted: () => void;
  /** Before the writes that had to wait for the lock are run. */
  readonly onLockedOut: (sinceMs: number, nowMs: number) => void;
}

export class SqliteWriter {
  readonly #options: SqliteWriterOptions;
  #queue: Write[] = [];
  #cancelFlush: Cancel | undefined;
  #untrimmed = 0n;
  /** Time since which the lock has been refused. */
  #lockedSinceMs: number | undefined;

  constructor(options: SqliteWriterOptions) {
    this.#options = options;
  }

  /** Runs `run` in a transaction. `StoreUnavailable` when other processes hold the lock for too long. */
  write<T>(run: (at: WritePosition) => T): Promise<T> {
    if (this.#queue.length >= QUEUE_LIMIT) {
      const why = 'too many writes are waiting';
      const error = new PaddletError('StoreUnavailable', `store ${this.#options.path}: ${why}`, { details: { why } });
      return Promise.reject(error);
    }
    const limitMs = this.#options.clock.monotonicMs() + CALL_LIMIT_MS;
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run, resolve: resolve as (value: unknown) => void, reject, limitMs });
      this.#planFlush();
    });
  }

  /** Drops the writes that wait; none of them has happened. */
  close(): void {
    this.#cancelFlush?.();
    const error = new PaddletError('StoreUnavailable', `store ${this.#options.path} was closed`);
    for (const write of this.#queue.splice(0)) write.reject(error);
  }

  #planFlush(): void {
    if (this.#cancelFlush !== undefined || this.#queue.length === 0) return;
    const immediate = setImmediate(() => this.#flush());
    this.#cancelFlush = () => clearImmediate(immediate);
  }

  #flush(): void {
    this.#cancelFlush = undefined;
    try {
      this.#options.checkFile();
      this.#options.db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      this.#failedToBegin(error);
      return;
    }
    this.#hasLock();
    const group = this.#queue.splice(0, GROUP_LIMIT);
    let outcomes: Outcome[];
    try {
      outcomes = this.#runGroup(group);
    } catch (error) {
      this.#rollBack();
      const failure = this.#failed(error);
      for (const write of group) write.reject(failure);
      this.#planFlush();
      return;
    }
    this.#commit(group, outcomes);
    this.#planFlush();
  }

  #failedToBegin(error: unknown): void {
    if (!isSqliteError(error) || !isBusy(error)) {
      const failure = this.#failed(error);
      for (const write of this.#queue.splice(0)) write.reject(failure);
      return;
    }
    const now = this.#options.clock.monotonicMs();
    this.#lockedSinceMs ??= now;
    const late = this.#queue.filter((write) => write.limitMs <= now);
    this.#queue = this.#queue.filter((write) => write.limitMs > now);
    for (const write of late) write.reject(lockedTooLong(this.#options.path, error));
    this.#cancelFlush = this.#options.clock.after(LOCK_RETRY_MS, () => this.#flush());
  }

  #hasLock(): void {
    const sinceMs = this.#lockedSinceMs;
    this.#lockedSinceMs = undefined;
    if (sinceMs !== undefined) this.#options.onLockedOut(sinceMs, this.#options.clock.monotonicMs());
  }

  #runGroup(group: readonly Write[]): Outcome[] {
    const { db, tables } = this.#options;
    const first = tables.revision();
    const at: WritePosition = { revision: first };
    const outcomes = group.map((write) => this.#runOne(db, write, at));
    if (at.revision !== first) {
      tables.setRevision(at.revision);
      this.#trim(at.revision - first);
    }
    return outcomes;
  }

  #runOne(db: DatabaseSync, write: Write, at: WritePosition): Outcome {
    const before = at.revision;
    db.exec('SAVEPOINT write');
    try {
      const value = write.run(at);
      db.exec('RELEASE write');
      return { value };
    } catch (error) {
      // SQLite's own failures (disk full, input/output) concern the whole group.
      if (isSqliteError(error)) throw error;
      db.exec('ROLLBACK TO write; RELEASE write');
      at.revision = before;
      return { error };
    }
  }

  #trim(revisions: bigint): void {
    this.#untrimmed += revisions;
    if (this.#untrimmed < REVISIONS_PER_TRIM) return;
    this.#untrimmed = 0n;
    this.#options.tables.trimHistory(this.#options.history);
  }

  #commit(group: readonly Write[], outcomes: readonly Outcome[]): void {
    try {
      this.#options.db.exec('COMMIT');
    } catch (error) {
      this.#rollBack();
      const failure = this.#inDoubt(this.#failed(error));
      for (const write of group) write.reject(failure);
      return;
    }
    outcomes.forEach((outcome, i) => {
      if ('error' in outcome) group[i]!.reject(outcome.error);
      else group[i]!.resolve(outcome.value);
    });
    this.#options.onCommitted();
  }

  #rollBack(): void {
    // Some failures have rolled back by themselves.
    if (this.#options.db.isTransaction) this.#options.db.exec('ROLLBACK');
  }

  #failed(error: unknown): unknown {
    const failure = isSqliteError(error) ? this.#options.failureOf(error) : error;
    this.#options.onFailed(failure);
    return failure;
  }

  /** A commit that failed may still have reached the disk. */
  #inDoubt(failure: unknown): unknown {
    if (!isPaddletError(failure, 'StoreUnavailable')) return failure;
    const { message, hint, details, cause } = failure;
    return new PaddletError('StoreUnknownOutcome', message, {
      ...(hint === undefined ? {} : { hint }),
      details,
      cause,
    });
  }
}
