/** A real etcd that wants a user with a password, and one that wants certificates of its clients. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import type { StoreCredentials } from '../../../src/store/etcd/access.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { EtcdServer, whyNoEtcd } from '../../etcd-server.ts';
import { failureOf, put, SILENT, WatchRecorder } from '../support.ts';
import { Certificates } from './certificates.ts';

const reason = whyNoEtcd() ?? Certificates.whyNot();
const titled = (what: string): string => (reason === undefined ? what : `${what} (${reason})`);
const clock = createClock();

async function open(url: string, credentials?: StoreCredentials): Promise<Store> {
  const store = await openStore(url, { clock, log: SILENT, ...(credentials && { credentials }) });
  onTestFinished(() => store.close());
  return store;
}

describe.skipIf(reason !== undefined)(titled('an etcd with users'), () => {
  const user = { name: 'trainer', password: 'of the trainer' };
  let server: EtcdServer;

  beforeAll(async () => {
    server = await EtcdServer.start();
    await server.requireUsers(user);
  });
  afterAll(() => server.stop());

  it('serves one that gives the password: keys, leases, watches', async () => {
    const store = await open(server.url, { user });
    const { revision } = await store.identity();
    const watch = new WatchRecorder(store, '/paddlet/', revision + 1n);
    const { leaseId } = await store.leaseGrant(60_000);
    await put(store, '/paddlet/a/job', '1', leaseId);
    expect(await store.leaseKeepAlive(leaseId)).toEqual({ grantedTtlMs: 60_000 });
    expect((await store.get('/paddlet/a/job'))?.value).toBe('1');
    await store.leaseRevoke(leaseId);
    await watch.untilDeleted('/paddlet/a/job');
  });

  it('serves it again when the server has forgotten its token', async () => {
    const store = await open(server.url, { user });
    const { revision } = await put(store, '/paddlet/b/job', '1');
    const { leaseId } = await store.leaseGrant(60_000);
    const watch = new WatchRecorder(store, '/paddlet/b/', revision + 1n);
    // It keeps tokens in memory.
    await server.restart();
    await expect.poll(() => store.leaseKeepAlive(leaseId)).toEqual({ grantedTtlMs: 60_000 });
    await expect.poll(() => put(store, '/paddlet/b/job', '2')).toMatchObject({ succeeded: true });
    await watch.until((story) => story.includes('/paddlet/b/job=2'));
  });

  it('refuses a wrong password, no user and other keys, each with what to do about it', async () => {
    const wrong = await open(server.url, { user: { ...user, password: 'wrong' } });
    const hint = expect.stringContaining('PADDLET_STORE_PASSWORD');
    expect(await failureOf(wrong.get('/paddlet/a'))).toMatchObject({ code: 'StoreInvalid', hint });
    const without = await open(server.url);
    for (const failed of [failureOf(without.get('/paddlet/a')), failureOf(put(without, '/paddlet/a', '1'))]) {
      expect(await failed).toMatchObject({ code: 'StoreInvalid', hint });
    }
    const store = await open(server.url, { user });
    expect(await failureOf(store.get('/other'))).toMatchObject({
      code: 'StoreInvalid',
      hint: expect.stringContaining('permission for the prefix /paddlet/'),
    });
  });
});

describe.skipIf(reason !== undefined)(titled('an etcd with certificates'), () => {
  let server: EtcdServer;
  let made: Certificates;

  beforeAll(async () => {
    made = new Certificates();
    server = await EtcdServer.start({ tls: { ...made.server, ca: made.authority.cert } });
  });
  afterAll(async () => {
    await server.stop();
    made.remove();
  });

  it('serves a client with one of its authority: keys, leases, watches', async () => {
    const store = await open(server.url, { tls: Certificates.read(made.client, made.authority) });
    const { revision } = await store.identity();
    const watch = new WatchRecorder(store, '/paddlet/', revision + 1n);
    const { leaseId } = await store.leaseGrant(60_000);
    await put(store, '/paddlet/a/job', '1', leaseId);
    expect(await store.leaseKeepAlive(leaseId)).toEqual({ grantedTtlMs: 60_000 });
    await watch.until((story) => story.includes('/paddlet/a/job=1'));
  });

  it('serves no client without one, with one of a stranger, or by plain TCP', async () => {
    const { ca } = Certificates.read(made.client, made.authority);
    const without = await open(server.url, { tls: { ca } });
    const stranger = await open(server.url, { tls: { ...Certificates.read(made.stranger, made.authority) } });
    const plain = await open(server.url.replace('etcds:', 'etcd:'));
    const calls = [without, stranger, plain].map((store) => failureOf(store.get('/paddlet/a')));
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(Array(3).fill('StoreUnavailable'));
  });

  it('is not trusted when its certificate is of a stranger: TLS is named', async () => {
    const store = await open(server.url, { tls: Certificates.read(made.client, made.stranger) });
    expect((await failureOf(store.get('/paddlet/a'))).message).toMatch(
      new RegExp(`^store ${server.url}: TLS failed: .*certificate`),
    );
  });
});

describe('certificates', () => {
  it('are refused for a URL without TLS, and when they are none', async () => {
    const tls = { ca: 'x' };
    expect(await failureOf(open('etcd://127.0.0.1:1', { tls }))).toMatchObject({
      code: 'Usage',
      hint: expect.stringContaining('etcds://'),
    });
    const broken = { cert: 'no certificate', key: 'no key' };
    expect(await failureOf(open('etcds://127.0.0.1:1', { tls: broken }))).toMatchObject({ code: 'Usage' });
  });
});

it('an etcd that cannot be reached: says why, and the address once', async () => {
  const unreachable: [string, RegExp][] = [
    ['etcd://127.0.0.1:1', /^connection refused$/],
    ['etcd://no-such-host.invalid:2379', /^the host name no-such-host\.invalid cannot be resolved \(E\w+\)$/],
    ['etcd://127.0.0.1:1,127.0.0.1:2', /^127\.0\.0\.1:[12]: connection refused$/],
  ];
  const stores = await Promise.all(unreachable.map(([url]) => open(url)));
  const errors = await Promise.all(stores.map((store) => failureOf(store.get('/paddlet/a'))));
  for (const [at, [url, why]] of unreachable.entries()) {
    const { code, message } = errors[at]!;
    expect([code, message.slice(0, `store ${url}: `.length)]).toEqual(['StoreUnavailable', `store ${url}: `]);
    expect(message.slice(`store ${url}: `.length)).toMatch(why);
  }
});
