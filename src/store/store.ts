/**
 * The coordination store: etcd's semantics, cut down to what paddlet needs. Three implementations (etcd, SQLite,
 * memory) pass one contract suite (`test/contract`).
 *
 * Rules of all three:
 *  - Every successful write raises one global revision; revisions are never reused, not even after deletion.
 *  - A key's `createRevision` is the revision that created it; it is the fencing token of its owner. Deleting and
 *    creating it again gives another one.
 *  - A transaction is atomic and sees the state of one revision.
 *  - LIMITS.storeTxnOps operations a transaction and LIMITS.storeValueBytes a value are refused with `StoreLimit`.
 *  - A write may answer `StoreUnknownOutcome`: it may or may not have happened. Read back.
 *  - Errors are PaddletErrors of the Store family; anything else thrown is a bug.
 */
import type { Cancel } from '../base/seams.ts';

export interface KeyValue {
  readonly key: string;
  readonly value: string;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  /** The lease that the key is bound to, or 0n. */
  readonly leaseId: bigint;
}

export type Compare =
  /** `createRevision` equals; 0n means that the key does not exist. */
  | { readonly key: string; readonly createRevision: bigint }
  /** `createRevision` differs: the key does not exist, or was created by another revision. */
  | { readonly key: string; readonly notCreateRevision: bigint }
  /** `modRevision` equals; 0n means that the key does not exist. */
  | { readonly key: string; readonly modRevision: bigint }
  | { readonly key: string; readonly value: string };

export type Op =
  | { readonly put: string; readonly value: string; readonly leaseId?: bigint }
  | { readonly delete: string }
  | { readonly deletePrefix: string }
  | { readonly get: string };

/** One entry per operation of the branch taken: for `get` the key's state or undefined, for the others undefined. */
export interface TxnResult {
  readonly succeeded: boolean;
  readonly revision: bigint;
  readonly results: readonly (KeyValue | undefined)[];
}

export interface Txn {
  readonly if: readonly Compare[];
  readonly then: readonly Op[];
  readonly else?: readonly Op[];
}

export interface Range {
  readonly revision: bigint;
  /** Sorted bytewise by key. */
  readonly entries: readonly KeyValue[];
  readonly more: boolean;
}

/** Keys that begin with `prefix`, optionally from `from` (inclusive) on, at most `limit`. */
export interface RangeQuery {
  readonly prefix: string;
  readonly from?: string;
  readonly limit?: number;
}

export type WatchEvent =
  | { readonly type: 'put'; readonly entry: KeyValue }
  | { readonly type: 'delete'; readonly key: string; readonly modRevision: bigint };

export interface WatchHandlers {
  /** Events of whole revisions, in order, each exactly once from `fromRevision` on, even across lost connections. */
  onEvents(events: readonly WatchEvent[], revision: bigint): void;
  /**
   * The watch cannot continue from where it was (history compacted: `StoreCompacted`; store wiped or replaced:
   * `StoreReplaced`; closed by a bug). It has ended; after `StoreCompacted` the caller lists and watches again.
   */
  onEnd(error: Error): void;
}

/** What `leaseGrant` answers. */
export interface LeaseGrant {
  readonly leaseId: bigint;
  /** What the store granted; it may differ from what was asked. */
  readonly grantedTtlMs: number;
}

export interface StoreIdentity {
  /** Fixed for the life of this store's data; another one means that the store was wiped or replaced. */
  readonly clusterId: string;
  readonly revision: bigint;
}

/**
 * How the files of a store are opened. `create`: its folder and its file are made when they are missing. `join`: only
 * the file, since a folder that is missing may come back. `write`, `read`: neither; `read` changes nothing at all.
 */
export type StoreAccess = 'create' | 'join' | 'write' | 'read';

/** Why a store on this machine's disk cannot be written to, although its data is still held. */
export interface StoreTrouble {
  readonly kind: 'full' | 'readOnly' | 'missing' | 'openFiles' | 'failing';
  /** The store's file. */
  readonly path: string;
  /** For people: what is wrong and where. */
  readonly text: string;
  /** For people: what to do about it. */
  readonly remedy: string;
}

export interface Store {
  /** The URL as given by the user, for messages. */
  readonly url: string;
  /** Every call has its own time limit and ends with `StoreUnavailable` or `StoreUnknownOutcome` when it runs out. */
  identity(): Promise<StoreIdentity>;
  get(key: string): Promise<KeyValue | undefined>;
  range(query: RangeQuery): Promise<Range>;
  txn(txn: Txn): Promise<TxnResult>;
  leaseGrant(ttlMs: number): Promise<LeaseGrant>;
  /** Renews once. Returns the TTL granted; throws `LeaseGone` when the store says that the lease has ended. */
  leaseKeepAlive(leaseId: bigint): Promise<{ readonly grantedTtlMs: number }>;
  /** Ends the lease and deletes its keys at once. Does nothing for a lease that has ended. */
  leaseRevoke(leaseId: bigint): Promise<void>;
  /** Watches keys under `prefix` from `fromRevision` (inclusive) on. */
  watch(prefix: string, fromRevision: bigint, handlers: WatchHandlers): Cancel;
  /** Noticed within 2 s of when it begins. Only of stores on this machine's disk. */
  trouble?(): StoreTrouble | undefined;
  /** Ends watches silently and releases everything; leases are left to run out. */
  close(): Promise<void>;
}
