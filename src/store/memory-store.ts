/**
 * The store in memory: for tests and the simulation. `MemoryStoreData` is the server, with its own clock for leases;
 * each `MemoryStore` is the connection of one process to it.
 */
import { assert } from '../base/assert.ts';
import type { Cancel, Clock } from '../base/seams.ts';
import { checkKey, checkTtl, checkTxn, compareKeys, intervalOf } from './check.ts';
import { compacted, leaseGone } from './failures.ts';
import type {
  Compare,
  KeyValue,
  LeaseGrant,
  Op,
  Range,
  RangeQuery,
  Store,
  StoreIdentity,
  Txn,
  TxnResult,
  WatchEvent,
  WatchHandlers,
} from './store.ts';

interface Revision {
  readonly revision: bigint;
  readonly events: readonly WatchEvent[];
}

interface Lease {
  readonly ttlMs: number;
  cancelExpiry: Cancel;
}

interface Watcher {
  readonly prefix: string;
  next: bigint;
  readonly handlers: WatchHandlers;
}

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly clusterId?: string;
  /** Revisions whose events are kept for watches; older ones are compacted. */
  readonly historyRevisions?: number;
}

export class MemoryStoreData {
  readonly clusterId: string;
  revision = 1n;
  readonly #clock: Clock;
  readonly #historyRevisions: number;
  #compacted = 0n;
  #entries = new Map<string, KeyValue>();
  /** Keys in order, made when a range needs it; undefined after a key was created or deleted. */
  #sorted: string[] | undefined;
  #history: Revision[] = [];
  #leases = new Map<bigint, Lease>();
  #nextLease = 1n;
  #watchers = new Set<Watcher>();
  #isDeliveryPlanned = false;

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock;
    this.clusterId = options.clusterId ?? 'memory';
    this.#historyRevisions = options.historyRevisions ?? 10_000;
  }

  get(key: string): KeyValue | undefined {
    return this.#entries.get(key);
  }

  range(query: RangeQuery): Range {
    const { start, end } = intervalOf(query);
    this.#sorted ??= [...this.#entries.keys()].sort(compareKeys);
    const keys = this.#sorted;
    const entries: KeyValue[] = [];
    for (let i = firstAtLeast(keys, start); i < keys.length; i++) {
      const key = keys[i]!;
      if (end !== undefined && compareKeys(key, end) >= 0) break;
      if (entries.length === query.limit) return { revision: this.revision, entries, more: true };
      entries.push(this.#entries.get(key)!);
    }
    return { revision: this.revision, entries, more: false };
  }

  txn(txn: Txn): TxnResult {
    checkTxn(txn);
    const succeeded = txn.if.every((compare) => holds(compare, this.#entries.get(compare.key)));
    const branch = succeeded ? txn.then : (txn.else ?? []);
    for (const op of branch) {
      if ('put' in op && op.leaseId !== undefined && !this.#leases.has(op.leaseId)) throw leaseGone(op.leaseId);
    }
    const events: WatchEvent[] = [];
    const results = branch.map((op) => this.#apply(op, events));
    this.#commit(events);
    return { succeeded, revision: this.revision, results };
  }

  leaseGrant(ttlMs: number): LeaseGrant {
    checkTtl(ttlMs);
    const leaseId = this.#nextLease++;
    this.#leases.set(leaseId, { ttlMs, cancelExpiry: this.#clock.after(ttlMs, () => this.leaseRevoke(leaseId)) });
    return { leaseId, grantedTtlMs: ttlMs };
  }

  leaseKeepAlive(leaseId: bigint): { grantedTtlMs: number } {
    const lease = this.#leases.get(leaseId);
    if (lease === undefined) throw leaseGone(leaseId);
    lease.cancelExpiry();
    lease.cancelExpiry = this.#clock.after(lease.ttlMs, () => this.leaseRevoke(leaseId));
    return { grantedTtlMs: lease.ttlMs };
  }

  leaseRevoke(leaseId: bigint): void {
    this.#leases.get(leaseId)?.cancelExpiry();
    this.#leases.delete(leaseId);
    const keys = [...this.#entries.values()].filter((entry) => entry.leaseId === leaseId).map((entry) => entry.key);
    const events: WatchEvent[] = [];
    for (const key of keys.sort(compareKeys)) this.#delete(key, events);
    this.#commit(events);
  }

  watch(prefix: string, fromRevision: bigint, handlers: WatchHandlers): Cancel {
    checkKey(prefix);
    assert(fromRevision > 0n, 'a watch starts at a revision');
    const watcher: Watcher = { prefix, next: fromRevision, handlers };
    this.#watchers.add(watcher);
    this.#planDelivery();
    return () => void this.#watchers.delete(watcher);
  }

  /** Forgets the events up to and including `revision`, as etcd's compaction does. */
  compact(revision: bigint): void {
    assert(revision <= this.revision, 'only the past can be compacted');
    if (revision <= this.#compacted) return;
    this.#compacted = revision;
    this.#history = this.#history.filter((past) => past.revision > revision);
  }

  #apply(op: Op, events: WatchEvent[]): KeyValue | undefined {
    if ('get' in op) return this.#entries.get(op.get);
    if ('delete' in op) this.#delete(op.delete, events);
    else if ('deletePrefix' in op) {
      for (const entry of this.range({ prefix: op.deletePrefix }).entries) this.#delete(entry.key, events);
    } else this.#put(op.put, op.value, op.leaseId ?? 0n, events);
    return undefined;
  }

  #put(key: string, value: string, leaseId: bigint, events: WatchEvent[]): void {
    const modRevision = this.revision + 1n;
    const old = this.#entries.get(key);
    const entry: KeyValue = { key, value, createRevision: old?.createRevision ?? modRevision, modRevision, leaseId };
    if (old === undefined) this.#sorted = undefined;
    this.#entries.set(key, entry);
    events.push({ type: 'put', entry });
  }

  #delete(key: string, events: WatchEvent[]): void {
    if (!this.#entries.delete(key)) return;
    this.#sorted = undefined;
    events.push({ type: 'delete', key, modRevision: this.revision + 1n });
  }

  #commit(events: readonly WatchEvent[]): void {
    if (events.length === 0) return;
    this.revision += 1n;
    this.#history.push({ revision: this.revision, events });
    if (this.#history.length > this.#historyRevisions) this.#compacted = this.#history.shift()!.revision;
    this.#planDelivery();
  }

  /**
   * Watches are called in a later microtask: never inside the caller's transaction, and in the same order every time.
   */
  #planDelivery(): void {
    if (this.#isDeliveryPlanned) return;
    this.#isDeliveryPlanned = true;
    queueMicrotask(() => {
      this.#isDeliveryPlanned = false;
      for (const watcher of [...this.#watchers]) this.#deliver(watcher);
    });
  }

  #deliver(watcher: Watcher): void {
    if (watcher.next <= this.#compacted) {
      this.#watchers.delete(watcher);
      watcher.handlers.onEnd(compacted(watcher.next, this.#compacted));
      return;
    }
    const oldest = this.#history[0];
    if (oldest === undefined) return;
    // One entry a revision, without gaps.
    const first = Math.max(0, Number(watcher.next - oldest.revision));
    for (const past of this.#history.slice(first)) {
      if (!this.#watchers.has(watcher)) return;
      watcher.next = past.revision + 1n;
      const events = past.events.filter((event) => keyOfEvent(event).startsWith(watcher.prefix));
      if (events.length > 0) watcher.handlers.onEvents(events, past.revision);
    }
  }
}

/** One process's connection to a `MemoryStoreData`. */
export class MemoryStore implements Store {
  readonly url = 'memory:';
  readonly #data: MemoryStoreData;
  readonly #cancels = new Set<Cancel>();
  #isClosed = false;

  constructor(data: MemoryStoreData) {
    this.#data = data;
  }

  identity = (): Promise<StoreIdentity> =>
    this.#call((data) => ({ clusterId: data.clusterId, revision: data.revision }));
  get = (key: string): Promise<KeyValue | undefined> =>
    this.#call((data) => {
      checkKey(key);
      return data.get(key);
    });
  range = (query: RangeQuery): Promise<Range> => this.#call((data) => data.range(query));
  txn = (txn: Txn): Promise<TxnResult> => this.#call((data) => data.txn(txn));
  leaseGrant = (ttlMs: number): Promise<LeaseGrant> => this.#call((data) => data.leaseGrant(ttlMs));
  leaseKeepAlive = (leaseId: bigint): Promise<{ grantedTtlMs: number }> =>
    this.#call((data) => data.leaseKeepAlive(leaseId));
  leaseRevoke = (leaseId: bigint): Promise<void> => this.#call((data) => data.leaseRevoke(leaseId));

  watch(prefix: string, fromRevision: bigint, handlers: WatchHandlers): Cancel {
    assert(!this.#isClosed, 'a closed store is not used');
    const cancelWatch = this.#data.watch(prefix, fromRevision, handlers);
    const cancel = (): void => {
      cancelWatch();
      this.#cancels.delete(cancel);
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of [...this.#cancels]) cancel();
  }

  async #call<T>(run: (data: MemoryStoreData) => T): Promise<T> {
    assert(!this.#isClosed, 'a closed store is not used');
    return run(this.#data);
  }
}

const keyOfEvent = (event: WatchEvent): string => (event.type === 'put' ? event.entry.key : event.key);

function holds(compare: Compare, entry: KeyValue | undefined): boolean {
  if ('createRevision' in compare) return (entry?.createRevision ?? 0n) === compare.createRevision;
  if ('notCreateRevision' in compare) return (entry?.createRevision ?? 0n) !== compare.notCreateRevision;
  if ('modRevision' in compare) return (entry?.modRevision ?? 0n) === compare.modRevision;
  return entry?.value === compare.value;
}

function firstAtLeast(keys: readonly string[], start: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(keys[middle]!, start) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
