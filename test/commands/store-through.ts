import type { Store } from '../../src/store/store.ts';

/** A connection whose calls are those of `store`, save some. */
export function storeThrough(store: Store, changed: Partial<Store>): Store {
  return {
    url: store.url,
    identity: () => store.identity(),
    get: (key) => store.get(key),
    range: (query) => store.range(query),
    txn: (txn) => store.txn(txn),
    leaseGrant: (ttlMs) => store.leaseGrant(ttlMs),
    leaseKeepAlive: (leaseId) => store.leaseKeepAlive(leaseId),
    leaseRevoke: (leaseId) => store.leaseRevoke(leaseId),
    watch: (prefix, fromRevision, handlers) => store.watch(prefix, fromRevision, handlers),
    close: () => store.close(),
    ...changed,
  };
}
