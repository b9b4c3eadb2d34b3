/**
 * The store in one SQLite file, shared by the processes of one machine: the embedded default. There is no server: every
 * process polls the file, delivers its own watches from the event log, and may expire the leases of others
 * (`lease-observer.ts`). Durability: WAL with `synchronous=FULL`.
 */
import { dirname, resolve } from 'node:path';
import { assert } from '../../base/assert.ts';
import { pause } from '../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { checkKey, checkTtl, checkTxn, isReadOnly } from '../check.ts';
import { compacted, storeReplaced } from '../failures.ts';
import type {
  KeyValue,
  LeaseGrant,
  Range,
  RangeQuery,
  Store,
  StoreAccess,
  StoreIdentity,
  StoreTrouble,
  Txn,
  TxnResult,
  WatchHandlers,
} from '../store.ts';
import { asStoreError, freeBytesAt, isBusy, isSqliteError, type SqliteError } from './failures.ts';
import { fileIdOf, isOpenToOthers, openSqliteFile, type SqliteFile } from './file.ts';
import { LeaseObserver, type ObservedLease } from './lease-observer.ts';
import { type HistoryLimits, SqliteTables, type WritePosition } from './tables.ts';
import { LOW_SPACE_BYTES, WriteHealth } from './write-health.ts';
import { SqliteWriter } from './writer.ts';

const POLL_MS = 20;
const FILE_CHECK_MS = 1_000;
const CALL_LIMIT_MS = 2_000;
const LOCK_RETRY_MS = 3;
const DEFAULT_HISTORY: HistoryLimits = { events: 20_000, bytes: 64 * 1024 * 1024 };

export interface SqliteStoreOptions {
  readonly path: string;
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: `create`. */
  readonly access?: StoreAccess;
  /** Events kept for watches that fell behind; older ones are compacted. */
  readonly history?: HistoryLimits;
}

/** Events that somebody watches; all of them up to `revision`, perhaps some after it. */
type WatchedHistory = ReturnType<SqliteTables['history']> & { readonly revision: bigint };

interface Watcher {
  readonly prefix: string;
  next: bigint;
  readonly handlers: WatchHandlers;
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const file = await openSqliteFile(resolve(options.path), options.clock, options.access);
  if (!file.isReadOnly && isOpenToOthers(file.path)) {
    options.log.warn(`store ${file.path} is open to other users of this machine: run chmod 600 ${file.path}`);
  }
  return new SqliteStore(file, options);
}

export class SqliteStore implements Store {
  readonly url: string;
  readonly #file: SqliteFile;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #health: WriteHealth;
  readonly #tables: SqliteTables;
  readonly #writer: SqliteWriter;
  readonly #observer = new LeaseObserver();
  readonly #expiring = new Set<bigint>();
  #isProving = false;
  readonly #watchers = new Set<Watcher>();
  #isClosed = false;
  #cancelPoll: Cancel = () => {};
  #dataVersion: bigint | undefined;
  /** This connection has committed: `data_version` shows only the commits of others. */
  #isChanged = true;
  #nextFileCheckMs = 0;
  /** The highest revision seen: a lower one later means that the file's content was put back. */
  #revision: bigint;
  #replaced: PaddletError | undefined;
  /** Read by the current poll, not delivered yet. */
  #events: WatchedHistory | undefined;

  constructor(file: SqliteFile, options: SqliteStoreOptions) {
    this.url = options.url;
    this.#file = file;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#health = new WriteHealth(options.clock, options.log);
    this.#tables = new SqliteTables(file.db);
    this.#revision = this.#tables.revision();
    this.#writer = new SqliteWriter({
      db: file.db,
      tables: this.#tables,
      path: file.path,
      clock: options.clock,
      history: options.history ?? DEFAULT_HISTORY,
      checkFile: () => this.#checkFile(),
      failureOf: (error) => this.#failureOf(error),
      onFailed: (error) => this.#failedWrite(error),
      onCommitted: () => this.#committed(),
      onLockedOut: (sinceMs, nowMs) => this.#observer.lockedOut(sinceMs, nowMs),
    });
    this.#armPoll();
  }

  identity(): Promise<StoreIdentity> {
    return this.#read(() => ({ clusterId: this.#file.clusterId, revision: this.#tables.revision() }));
  }

  async get(key: string): Promise<KeyValue | undefined> {
    checkKey(key);
    return this.#read(() => this.#tables.get(key));
  }

  range(query: RangeQuery): Promise<Range> {
    return this.#read(() => this.#snapshot(() => this.#tables.range(query)));
  }

  async txn(txn: Txn): Promise<TxnResult> {
    checkTxn(txn);
    if (isReadOnly(txn)) {
      return this.#read(() => this.#snapshot(() => this.#tables.txn(txn, { revision: this.#tables.revision() })));
    }
    return this.#write((at) => this.#tables.txn(txn, at));
  }

  async leaseGrant(ttlMs: number): Promise<LeaseGrant> {
    checkTtl(ttlMs);
    return this.#write(() => ({ leaseId: this.#tables.leaseGrant(ttlMs), grantedTtlMs: ttlMs }));
  }

  leaseKeepAlive(leaseId: bigint): Promise<{ grantedTtlMs: number }> {
    return this.#write(() => ({ grantedTtlMs: this.#tables.leaseKeepAlive(leaseId) }));
  }

  leaseRevoke(leaseId: bigint): Promise<void> {
    return this.#write((at) => this.#tables.leaseEnd(leaseId, at));
  }

  watch(prefix: string, fromRevision: bigint, handlers: WatchHandlers): Cancel {
    assert(!this.#isClosed, 'a closed store is not used');
    checkKey(prefix);
    assert(fromRevision > 0n, 'a watch starts at a revision');
    const watcher: Watcher = { prefix, next: fromRevision, handlers };
    this.#watchers.add(watcher);
    this.#isChanged = true;
    return () => void this.#watchers.delete(watcher);
  }

  trouble(): StoreTrouble | undefined {
    return this.#health.trouble;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watchers.clear();
    this.#cancelPoll();
    this.#writer.close();
    this.#file.db.close();
  }

  async #write<T>(run: (at: WritePosition) => T): Promise<T> {
    assert(!this.#isClosed, 'a closed store is not used');
    assert(!this.#file.isReadOnly, 'a store that was opened for reading is not written to');
    return this.#writer.write(run);
  }

  /** Writers do not block readers in WAL mode, except for moments (recovery): then the read is repeated. */
  async #read<T>(run: () => T): Promise<T> {
    const limitMs = this.#clock.monotonicMs() + CALL_LIMIT_MS;
    for (;;) {
      assert(!this.#isClosed, 'a closed store is not used');
      this.#checkFile();
      try {
        return run();
      } catch (error) {
        if (!isSqliteError(error)) throw error;
        if (!isBusy(error) || this.#clock.monotonicMs() >= limitMs) throw this.#failureOf(error);
      }
      await pause(this.#clock, LOCK_RETRY_MS);
    }
  }

  #snapshot<T>(run: () => T): T {
    this.#file.db.exec('BEGIN');
    try {
      return run();
    } finally {
      if (this.#file.db.isTransaction) this.#file.db.exec('COMMIT');
    }
  }

  #armPoll(): void {
    this.#cancelPoll();
    this.#cancelPoll = this.#clock.after(POLL_MS, () => this.#poll());
  }

  /** The watches of other processes see it at their next poll, ours at once. */
  #committed(): void {
    this.#isChanged = true;
    if (this.#watchers.size > 0) queueMicrotask(() => this.#poll());
  }

  #poll(): void {
    if (this.#isClosed) return;
    this.#armPoll();
    try {
      this.#pollFile();
    } catch (error) {
      this.#failedPoll(error);
    }
    this.#deliver();
  }

  #pollFile(): void {
    const beforeMs = this.#clock.monotonicMs();
    if (beforeMs >= this.#nextFileCheckMs) {
      this.#nextFileCheckMs = beforeMs + FILE_CHECK_MS;
      this.#checkFile();
      this.#checkSpace();
    }
    const version = this.#tables.dataVersion();
    const isChanged = this.#isChanged || version !== this.#dataVersion;
    const leases = isChanged ? this.#tables.leases() : undefined;
    if (isChanged) this.#events = this.#readEvents();
    // Only after everything was read: a failure before that leaves the change to the next poll.
    this.#isChanged = false;
    this.#dataVersion = version;
    if (this.#file.isReadOnly) return;
    for (const lease of this.#observer.observe(beforeMs, this.#clock.monotonicMs(), leases)) void this.#expire(lease);
    if (this.#observer.wantsProof(beforeMs)) void this.#prove();
  }

  #readEvents(): WatchedHistory | undefined {
    const revision = this.#tables.revision();
    if (revision < this.#revision) throw this.#setReplaced('was put back to an earlier state');
    this.#revision = revision;
    let next: bigint | undefined;
    for (const watcher of this.#watchers) if (next === undefined || watcher.next < next) next = watcher.next;
    if (next === undefined) return undefined;
    const prefixes = new Set([...this.#watchers].map(({ prefix }) => prefix));
    return { ...this.#tables.history(next, [...prefixes].sort()), revision };
  }

  #deliver(): void {
    const history = this.#events;
    this.#events = undefined;
    if (history === undefined) return;
    for (const watcher of [...this.#watchers]) {
      if (watcher.next > history.compacted) this.#deliverTo(watcher, history);
      else this.#endWatch(watcher, compacted(watcher.next, history.compacted));
    }
  }

  #deliverTo(watcher: Watcher, history: WatchedHistory): void {
    for (const { revision, events } of history.revisions) {
      if (!this.#watchers.has(watcher)) return;
      if (revision < watcher.next) continue;
      watcher.next = revision + 1n;
      const own = events.filter((event) =>
        (event.type === 'put' ? event.entry.key : event.key).startsWith(watcher.prefix),
      );
      if (own.length > 0) watcher.handlers.onEvents(own, revision);
    }
    if (watcher.next <= history.revision) watcher.next = history.revision + 1n;
  }

  #endWatch(watcher: Watcher, error: PaddletError): void {
    if (this.#watchers.delete(watcher)) watcher.handlers.onEnd(error);
  }

  #failedPoll(error: unknown): void {
    const failure = isSqliteError(error) ? this.#failureOf(error) : error;
    if (!isPaddletError(failure)) throw failure;
    if (isPaddletError(failure, 'StoreUnavailable')) {
      this.#health.failed(failure);
      this.#log.debug('store could not be polled', { error: failure });
      return;
    }
    for (const watcher of [...this.#watchers]) this.#endWatch(watcher, failure);
  }

  #failedWrite(error: unknown): void {
    this.#observer.failed(this.#clock.monotonicMs());
    this.#health.failed(error);
  }

  /** A process that writes nothing itself notices a full disk too, and that there is room again. */
  #checkSpace(): void {
    if (this.#file.isReadOnly) return;
    const isLow = freeBytesAt(dirname(this.#file.path)) < LOW_SPACE_BYTES;
    if (isLow || this.#health.trouble !== undefined) void this.#prove();
  }

  /** Proves that the file can be written to, by a write that changes nothing. */
  async #prove(): Promise<void> {
    if (this.#isProving) return;
    this.#isProving = true;
    const askedMs = this.#clock.monotonicMs();
    try {
      await this.#writer.write(() => this.#tables.rewrite());
      this.#observer.proven(askedMs, this.#clock.monotonicMs());
      this.#health.written();
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      if (!this.#isClosed) this.#log.debug('cannot write to the store', { error });
    } finally {
      this.#isProving = false;
    }
  }

  async #expire(lease: ObservedLease): Promise<void> {
    if (this.#expiring.has(lease.id)) return;
    this.#expiring.add(lease.id);
    try {
      await this.#writer.write((at) => {
        // Another process may have held the lock for long: then the owner could not renew.
        if (!this.#observer.isDue(lease, this.#clock.monotonicMs())) return;
        this.#tables.leaseEnd(lease.id, at, lease.renewals);
      });
    } catch (error) {
      // It stays due: the next poll tries again, or another process does.
      if (!isPaddletError(error)) throw error;
      if (!this.#isClosed) this.#log.debug('lease could not be expired', { lease: lease.id, error });
    } finally {
      this.#expiring.delete(lease.id);
    }
  }

  /** Whatever SQLite reports of a file that was replaced under it, the reason is that. */
  #failureOf(error: SqliteError): unknown {
    try {
      this.#checkFile();
    } catch (replaced) {
      return replaced;
    }
    return asStoreError(this.#file.path, error);
  }

  #checkFile(): void {
    if (this.#replaced !== undefined) throw this.#replaced;
    const fileId = fileIdOf(this.#file.path);
    if (fileId === this.#file.fileId) return;
    throw this.#setReplaced(fileId === undefined ? 'was removed' : 'was replaced by another file');
  }

  #setReplaced(how: string): PaddletError {
    this.#replaced = storeReplaced(this.url, how);
    return this.#replaced;
  }
}
