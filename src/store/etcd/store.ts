/** The store in an etcd cluster (version 3). */
import type { IResponseHeader } from 'etcd3';
import { assert } from '../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { checkKey, checkTtl, checkTxn, compareKeys, intervalOf, isReadOnly } from '../check.ts';
import { leaseGone, storeReplaced } from '../failures.ts';
import { ROOT } from '../keys.ts';
import type {
  KeyValue,
  LeaseGrant,
  Range,
  RangeQuery,
  Store,
  StoreIdentity,
  Txn,
  TxnResult,
  WatchHandlers,
} from '../store.ts';
import { etcdAccess, type StoreCredentials } from './access.ts';
import { asStoreError, EtcdCallError } from './call-error.ts';
import { bytes, keyValueOf, txnRequest, txnResults } from './codec.ts';
import type { EtcdMember } from './member.ts';
import { type CallOptions, EtcdRpc, REPEATABLE } from './rpc.ts';
import { EtcdWatch } from './watch.ts';

/** Keys of one answer; longer ranges are read in pages of one revision. */
const PAGE_KEYS = 2_000;

/** What every answer carries. */
interface Answer {
  readonly header: IResponseHeader;
}

export interface EtcdStoreOptions {
  /** `host:port` of each member. */
  readonly hosts: readonly string[];
  readonly url: string;
  readonly isTls: boolean;
  readonly credentials: StoreCredentials;
  readonly clock: Clock;
  readonly log: Log;
}

export class EtcdStore implements Store {
  readonly url: string;
  readonly #options: EtcdStoreOptions;
  readonly #rpc: EtcdRpc;
  readonly #watches = new Set<EtcdWatch>();
  #isClosed = false;
  #clusterId: string | undefined;
  #revision = 0n;
  #raftTerm = 0n;
  #replaced: PaddletError | undefined;

  constructor(options: EtcdStoreOptions) {
    this.url = options.url;
    this.#options = options;
    this.#rpc = new EtcdRpc({ ...options, access: etcdAccess(options.isTls, options.credentials) });
  }

  async identity(): Promise<StoreIdentity> {
    // One that a user with access to the keys of jobs alone may read.
    const key = bytes(ROOT);
    const response = await this.#kv(REPEATABLE, ({ kv }) => kv.range({ key, count_only: true }));
    return { clusterId: response.header.cluster_id, revision: BigInt(response.header.revision) };
  }

  async get(key: string): Promise<KeyValue | undefined> {
    checkKey(key);
    const response = await this.#kv(REPEATABLE, ({ kv }) => kv.range({ key: bytes(key) }));
    const kv = response.kvs[0];
    return kv === undefined ? undefined : keyValueOf(kv);
  }

  async range(query: RangeQuery): Promise<Range> {
    const { start, end } = intervalOf(query);
    if (end !== undefined && compareKeys(start, end) >= 0) {
      return { revision: (await this.identity()).revision, entries: [], more: false };
    }
    const range_end = end === undefined ? Buffer.of(0) : bytes(end);
    const limit = query.limit ?? Number.POSITIVE_INFINITY;
    const entries: KeyValue[] = [];
    let revision: string | undefined;
    for (let key = bytes(start); ; ) {
      const page = Math.min(limit - entries.length, PAGE_KEYS);
      // All pages show the state of the first one's revision.
      const request = { key, range_end, limit: page, ...(revision === undefined ? {} : { revision }) };
      const response = await this.#kv(REPEATABLE, ({ kv }) => kv.range(request)).catch(asUnavailable);
      revision ??= response.header.revision;
      entries.push(...response.kvs.map(keyValueOf));
      if (!response.more || entries.length >= limit) {
        return { revision: BigInt(revision), entries, more: response.more };
      }
      key = Buffer.concat([response.kvs.at(-1)!.key, Buffer.of(0)]);
    }
  }

  async txn(txn: Txn): Promise<TxnResult> {
    checkTxn(txn);
    const request = txnRequest(txn);
    const response = await this.#kv({ isRepeatable: isReadOnly(txn) }, ({ kv }) => kv.txn(request));
    const { succeeded, header } = response;
    return { succeeded, revision: BigInt(header.revision), results: txnResults(response) };
  }

  /** etcd counts in seconds and grants at least two or so. An abandoned grant leaves a lease that runs out. */
  async leaseGrant(ttlMs: number): Promise<LeaseGrant> {
    checkTtl(ttlMs);
    const request = { TTL: Math.ceil(ttlMs / 1000).toString(), ID: '0' };
    const response = await this.#lease(({ lease }) => lease.leaseGrant(request));
    return { leaseId: BigInt(response.ID), grantedTtlMs: Number(response.TTL) * 1000 };
  }

  async leaseKeepAlive(leaseId: bigint): Promise<{ grantedTtlMs: number }> {
    const response = await this.#lease((member) => member.keepAlive(leaseId));
    const seconds = Number(response.TTL);
    if (seconds <= 0) throw leaseGone(leaseId);
    return { grantedTtlMs: seconds * 1000 };
  }

  async leaseRevoke(leaseId: bigint): Promise<void> {
    try {
      await this.#lease(({ lease }) => lease.leaseRevoke({ ID: leaseId.toString() }));
    } catch (error) {
      if (!isPaddletError(error, 'LeaseGone')) throw error;
    }
  }

  watch(prefix: string, fromRevision: bigint, handlers: WatchHandlers): Cancel {
    assert(!this.#isClosed, 'a closed store is not used');
    checkKey(prefix);
    assert(fromRevision > 0n, 'a watch starts at a revision');
    const { clock, log } = this.#options;
    const watch: EtcdWatch = new EtcdWatch({
      rpc: this.#rpc,
      clock,
      log,
      prefix,
      fromRevision,
      handlers,
      checkHeader: (header) => this.#checkCluster(header),
      checkRevision: (revision) => this.#checkRevision(revision),
      onEnded: () => this.#watches.delete(watch),
    });
    this.#watches.add(watch);
    return () => {
      watch.cancel();
      this.#watches.delete(watch);
    };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const watch of this.#watches) watch.cancel();
    this.#watches.clear();
    this.#rpc.close();
  }

  /**
   * Requests to the key-value service are answered by the cluster as a whole, so revisions and election terms only
   * grow. A cluster that was wiped and started by the same command line has the same id, but counts both from the
   * start.
   */
  async #kv<T extends Answer>(options: CallOptions, run: (member: EtcdMember) => Promise<T>): Promise<T> {
    const sentAtRevision = this.#revision;
    const sentAtTerm = this.#raftTerm;
    const response = await this.#call(options, run);
    const revision = BigInt(response.header.revision);
    if (revision < sentAtRevision) {
      throw this.#setReplaced(`went back from revision ${sentAtRevision} to ${revision}`);
    }
    const term = BigInt(response.header.raft_term);
    if (term < sentAtTerm) throw this.#setReplaced(`went back from election term ${sentAtTerm} to ${term}`);
    if (revision > this.#revision) this.#revision = revision;
    if (term > this.#raftTerm) this.#raftTerm = term;
    return response;
  }

  /** Leases may be granted, renewed and ended twice without harm. */
  #lease<T extends Answer>(run: (member: EtcdMember) => Promise<T>): Promise<T> {
    return this.#call(REPEATABLE, run);
  }

  async #call<T extends Answer>(options: CallOptions, run: (member: EtcdMember) => Promise<T>): Promise<T> {
    assert(!this.#isClosed, 'a closed store is not used');
    if (this.#replaced !== undefined) throw this.#replaced;
    try {
      const answer = this.#rpc.call(options, run);
      const response = await (options.isRepeatable ? answer.catch(withoutDoubt) : answer);
      this.#checkCluster(response.header);
      return response;
    } catch (error) {
      throw asStoreError(this.url, error);
    }
  }

  async #checkRevision(revision: bigint): Promise<void> {
    const now = await this.identity();
    if (now.revision < revision) throw this.#setReplaced(`went back from revision ${revision} to ${now.revision}`);
  }

  #checkCluster(header: IResponseHeader): void {
    if (this.#replaced !== undefined) throw this.#replaced;
    this.#clusterId ??= header.cluster_id;
    if (header.cluster_id !== this.#clusterId) {
      throw this.#setReplaced(`changed from cluster ${this.#clusterId} to ${header.cluster_id}`);
    }
  }

  #setReplaced(how: string): PaddletError {
    const error = storeReplaced(this.url, how);
    this.#replaced = error;
    for (const watch of [...this.#watches]) watch.end(error);
    return error;
  }
}

/** For what may be repeated, it does not matter whether an abandoned attempt was carried out. */
function withoutDoubt(error: unknown): never {
  if (!(error instanceof EtcdCallError) || !error.isInDoubt) throw error;
  throw new EtcdCallError(error.message, { status: error.status, isInDoubt: false });
}

/** Compaction overtook a range between two of its pages: to the caller, a read that must be repeated. */
function asUnavailable(error: unknown): never {
  if (!isPaddletError(error, 'StoreCompacted')) throw error;
  throw new PaddletError('StoreUnavailable', error.message, { cause: error });
}
