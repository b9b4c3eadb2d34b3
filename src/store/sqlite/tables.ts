/** The store's operations on the tables. All are synchronous; those that write run inside the caller's transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { intervalOf, prefixEnd } from '../check.ts';
import { leaseGone } from '../failures.ts';
import type { Compare, KeyValue, Op, Range, RangeQuery, Txn, TxnResult, WatchEvent } from '../store.ts';

interface EntryRow {
  readonly key: string;
  readonly value: string;
  readonly create_revision: bigint;
  readonly mod_revision: bigint;
  readonly lease_id: bigint;
}

interface EventRow extends Omit<EntryRow, 'value' | 'mod_revision'> {
  readonly revision: bigint;
  readonly value: string | null;
}

export interface LeaseRow {
  readonly id: bigint;
  readonly ttlMs: number;
  /** Raised by each keepalive. */
  readonly renewals: bigint;
}

export interface HistoryLimits {
  readonly events: number;
  readonly bytes: number;
}

export interface RevisionEvents {
  readonly revision: bigint;
  readonly events: readonly WatchEvent[];
}

const ENTRY = 'key, value, create_revision, mod_revision, lease_id';
/** Bytes of an event beside key and value, roughly. */
const EVENT_OVERHEAD_BYTES = 64;

/** The position of a write transaction: the revision that its last completed part made. */
export interface WritePosition {
  revision: bigint;
}

export class SqliteTables {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(key: string): KeyValue | undefined {
    const row = this.#sql(`SELECT ${ENTRY} FROM entry WHERE key = ?`).get(key);
    return row === undefined ? undefined : entryOf(row as unknown as EntryRow);
  }

  /** Must run in a transaction, so that the entries are those of the revision. */
  range(query: RangeQuery): Range {
    const { start, end } = intervalOf(query);
    const limit = query.limit ?? -2;
    const bounded = end === undefined ? '' : 'AND key < ?';
    const rows = this.#sql(`SELECT ${ENTRY} FROM entry WHERE key >= ? ${bounded} ORDER BY key LIMIT ?`).all(
      ...(end === undefined ? [start, limit + 1] : [start, end, limit + 1]),
    ) as unknown as EntryRow[];
    const more = query.limit !== undefined && rows.length > query.limit;
    const entries = (more ? rows.slice(0, query.limit) : rows).map(entryOf);
    return { revision: this.revision(), entries, more };
  }

  revision(): bigint {
    return (this.#sql('SELECT revision FROM meta').get() as { revision: bigint }).revision;
  }

  setRevision(revision: bigint): void {
    this.#sql('UPDATE meta SET revision = ?').run(revision);
  }

  /** Writes a page and leaves its content as it was. (SQLite skips an update that changes no byte.) */
  rewrite(): void {
    this.#sql('UPDATE meta SET compacted = compacted + 1').run();
    this.#sql('UPDATE meta SET compacted = compacted - 1').run();
  }

  /** Changes whenever another connection has committed; the same between two of our own commits. */
  dataVersion(): bigint {
    return (this.#sql('PRAGMA data_version').get() as { data_version: bigint }).data_version;
  }

  txn(txn: Txn, at: WritePosition): TxnResult {
    const succeeded = txn.if.every((compare) => this.#holds(compare));
    const changes = new ChangeLog(at.revision + 1n);
    const results = (succeeded ? txn.then : (txn.else ?? [])).map((op) => this.#apply(op, changes));
    this.#finish(changes, at);
    return { succeeded, revision: at.revision, results };
  }

  leaseGrant(ttlMs: number): bigint {
    const row = this.#sql('INSERT INTO lease (ttl_ms, renewals) VALUES (?, 0) RETURNING id').get(ttlMs);
    return (row as { id: bigint }).id;
  }

  leaseKeepAlive(leaseId: bigint): number {
    const row = this.#sql('UPDATE lease SET renewals = renewals + 1 WHERE id = ? RETURNING ttl_ms').get(leaseId);
    if (row === undefined) throw leaseGone(leaseId);
    return (row as { ttl_ms: number }).ttl_ms;
  }

  /** Ends a lease and deletes its keys, if `renewals` is not given or still the same. */
  leaseEnd(leaseId: bigint, at: WritePosition, renewals?: bigint): void {
    const deleted =
      renewals === undefined
        ? this.#sql('DELETE FROM lease WHERE id = ?').run(leaseId)
        : this.#sql('DELETE FROM lease WHERE id = ? AND renewals = ?').run(leaseId, renewals);
    if (Number(deleted.changes) === 0) return;
    const changes = new ChangeLog(at.revision + 1n);
    const keys = this.#sql('SELECT key FROM entry WHERE lease_id = ? AND lease_id <> 0 ORDER BY key').all(leaseId);
    for (const { key } of keys as { key: string }[]) this.#delete(key, changes);
    this.#finish(changes, at);
  }

  leases(): LeaseRow[] {
    const rows = this.#sql('SELECT id, ttl_ms, renewals FROM lease').all();
    return (rows as unknown as { id: bigint; ttl_ms: number; renewals: bigint }[]).map((row) => ({
      id: row.id,
      ttlMs: row.ttl_ms,
      renewals: row.renewals,
    }));
  }

  /**
   * Events of keys under the prefixes, of revisions from `from` on, and up to where history was dropped, read in this
   * order. Others are not brought here: values of tasks change hundreds of times a second.
   */
  history(
    from: bigint,
    prefixes: readonly string[],
  ): { readonly revisions: RevisionEvents[]; readonly compacted: bigint } {
    const ranges = prefixes.map((prefix) => [prefix, prefixEnd(prefix)].filter((end) => end !== undefined));
    const isUnder = ranges.map(({ length }) => (length === 1 ? 'key >= ?' : '(key >= ? AND key < ?)')).join(' OR ');
    const rows = this.#sql(`SELECT * FROM event WHERE revision >= ? AND (${isUnder}) ORDER BY revision, seq`).all(
      from,
      ...ranges.flat(),
    );
    // Read last: what was dropped before the events were read is then certainly seen as dropped.
    const { compacted } = this.#sql('SELECT compacted FROM meta').get() as { compacted: bigint };
    const revisions: { revision: bigint; events: WatchEvent[] }[] = [];
    for (const row of rows as unknown as EventRow[]) {
      const last = revisions.at(-1);
      if (last?.revision === row.revision) last.events.push(eventOf(row));
      else revisions.push({ revision: row.revision, events: [eventOf(row)] });
    }
    return { revisions, compacted };
  }

  /** Drops the oldest events above the limits. Rows are looked at one by one only where their bytes are too many. */
  trimHistory(limits: HistoryLimits): void {
    const newestFirst = 'FROM event ORDER BY revision DESC, seq DESC';
    const excess = this.#sql(`SELECT revision ${newestFirst} LIMIT 1 OFFSET ?`).get(limits.events);
    if (excess !== undefined) this.dropHistory((excess as { revision: bigint }).revision);
    const total = this.#sql('SELECT sum(bytes) AS bytes FROM event').get() as { bytes: bigint | null };
    if (Number(total.bytes ?? 0n) <= limits.bytes) return;
    let bytes = 0;
    for (const row of this.#sql(`SELECT revision, bytes ${newestFirst}`).iterate() as Iterable<unknown>) {
      const { revision, bytes: size } = row as { revision: bigint; bytes: bigint };
      bytes += Number(size);
      if (bytes <= limits.bytes) continue;
      this.dropHistory(revision);
      return;
    }
  }

  /** Drops the events up to and including `revision`. */
  dropHistory(revision: bigint): void {
    this.#sql('DELETE FROM event WHERE revision <= ?').run(revision);
    this.#sql('UPDATE meta SET compacted = max(compacted, ?)').run(revision);
  }

  #holds(compare: Compare): boolean {
    const entry = this.get(compare.key);
    if ('createRevision' in compare) return (entry?.createRevision ?? 0n) === compare.createRevision;
    if ('notCreateRevision' in compare) return (entry?.createRevision ?? 0n) !== compare.notCreateRevision;
    if ('modRevision' in compare) return (entry?.modRevision ?? 0n) === compare.modRevision;
    return entry?.value === compare.value;
  }

  #apply(op: Op, changes: ChangeLog): KeyValue | undefined {
    if ('get' in op) return this.get(op.get);
    if ('delete' in op) this.#delete(op.delete, changes);
    else if ('deletePrefix' in op) this.#deletePrefix(op.deletePrefix, changes);
    else this.#put(op.put, op.value, op.leaseId ?? 0n, changes);
    return undefined;
  }

  #put(key: string, value: string, leaseId: bigint, changes: ChangeLog): void {
    if (leaseId !== 0n && this.#sql('SELECT 1 FROM lease WHERE id = ?').get(leaseId) === undefined) {
      throw leaseGone(leaseId);
    }
    const row = this.#sql(
      `INSERT INTO entry (${ENTRY}) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, mod_revision = excluded.mod_revision,
         lease_id = excluded.lease_id RETURNING create_revision`,
    ).get(key, value, changes.revision, changes.revision, leaseId) as { create_revision: bigint };
    changes.put(key, value, row.create_revision, leaseId);
  }

  #delete(key: string, changes: ChangeLog): void {
    if (Number(this.#sql('DELETE FROM entry WHERE key = ?').run(key).changes) > 0) changes.delete(key);
  }

  #deletePrefix(prefix: string, changes: ChangeLog): void {
    const end = prefixEnd(prefix);
    const rows =
      end === undefined
        ? this.#sql('SELECT key FROM entry WHERE key >= ? ORDER BY key').all(prefix)
        : this.#sql('SELECT key FROM entry WHERE key >= ? AND key < ? ORDER BY key').all(prefix, end);
    for (const { key } of rows as { key: string }[]) this.#delete(key, changes);
  }

  /** A transaction that changed nothing makes no revision, as in etcd. */
  #finish(changes: ChangeLog, at: WritePosition): void {
    if (changes.rows.length === 0) return;
    const insert = this.#sql('INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)');
    changes.rows.forEach((row, seq) => {
      const bytes = EVENT_OVERHEAD_BYTES + Buffer.byteLength(row.key) + Buffer.byteLength(row.value ?? '');
      insert.run(changes.revision, seq, row.key, row.value, row.createRevision, row.leaseId, bytes);
    });
    at.revision = changes.revision;
  }

  #sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#db.prepare(text);
      statement.setReadBigInts(true);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

class ChangeLog {
  readonly revision: bigint;
  readonly rows: { key: string; value: string | null; createRevision: bigint; leaseId: bigint }[] = [];

  constructor(revision: bigint) {
    this.revision = revision;
  }

  put(key: string, value: string, createRevision: bigint, leaseId: bigint): void {
    this.rows.push({ key, value, createRevision, leaseId });
  }

  delete(key: string): void {
    this.rows.push({ key, value: null, createRevision: 0n, leaseId: 0n });
  }
}

const entryOf = (row: EntryRow): KeyValue => ({
  key: row.key,
  value: row.value,
  createRevision: row.create_revision,
  modRevision: row.mod_revision,
  leaseId: row.lease_id,
});

function eventOf(row: EventRow): WatchEvent {
  if (row.value === null) return { type: 'delete', key: row.key, modRevision: row.revision };
  return { type: 'put', entry: entryOf({ ...row, value: row.value, mod_revision: row.revision }) };
}
