import { PaddletError } from '../base/errors.ts';
import type { Clock, Log } from '../base/seams.ts';
import type { StoreCredentials } from './etcd/access.ts';
import type { Store, StoreAccess } from './store.ts';

export interface OpenStoreOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** What may be created; default `create`. A cluster's store exists by itself. */
  readonly access?: StoreAccess;
  /** Credentials for an etcd cluster. */
  readonly credentials?: StoreCredentials;
}

const HINT = 'use etcd://HOST:PORT[,HOST:PORT…], etcds:// for TLS, sqlite:PATH or memory:';
const ETCD = /^etcds?:\/\//;

/**
 * Opens the store of a URL; `Usage` when the URL is wrong. A cluster that is unreachable does not fail here: the calls
 * answer `StoreUnavailable`. A SQLite file that cannot be used is `StoreInvalid`, one of another layout
 * `VersionMismatch`, one that is missing and may not be created `JobUnknown`. Where waiting may help it is
 * `StoreUnavailable`. Each kind of store is loaded only when it is chosen.
 */
export async function openStore(url: string, options: OpenStoreOptions): Promise<Store> {
  if (url === 'memory:') {
    const { MemoryStore, MemoryStoreData } = await import('./memory-store.ts');
    return new MemoryStore(new MemoryStoreData({ clock: options.clock }));
  }
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length);
    if (path === '' || path.includes('\0'))
      throw new PaddletError('Usage', `store ${url}: expected a path`, { hint: HINT });
    const { openSqliteStore } = await import('./sqlite/store.ts');
    return openSqliteStore({ path, url, ...options });
  }
  if (ETCD.test(url)) {
    const isTls = url.startsWith('etcds:');
    const credentials = options.credentials ?? {};
    if (!isTls && credentials.tls !== undefined) throw notTls(url);
    const hosts = parseHosts(url);
    const { EtcdStore } = await import('./etcd/store.ts');
    return new EtcdStore({ ...options, hosts, url, isTls, credentials });
  }
  throw new PaddletError('Usage', `store ${JSON.stringify(url)}: unknown kind`, { hint: HINT });
}

const notTls = (url: string): PaddletError =>
  new PaddletError('Usage', `store ${url}: certificates need TLS`, { hint: 'write etcds:// instead of etcd://' });

/** `host:port` of each member; IPv6 addresses in brackets. */
function parseHosts(url: string): string[] {
  const hosts = url.replace(ETCD, '').replace(/\/$/, '').split(',');
  for (const host of hosts) {
    const port = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})$/.exec(host)?.[1];
    if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
      throw new PaddletError('Usage', `store ${url}: ${JSON.stringify(host)} is not HOST:PORT`, { hint: HINT });
    }
  }
  return hosts;
}
