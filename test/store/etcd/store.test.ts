/**
 * EtcdStore against a real server that is stopped, killed, restarted and wiped. One test at least for each trap of the
 * npm client that it is built on: shared circuit breaker, long watch backoff, lease loss told at twice the TTL, no
 * deadlines, ambiguous retries, watches that die silently, wiped stores that look empty, `close` that does not, pings
 * too often.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { follow } from '../../../src/store/follow.ts';
import { keepLease } from '../../../src/store/lease-keeper.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { settle } from '../../../src/store/retry-transaction.ts';
import type { Store } from '../../../src/store/store.ts';
import { EtcdServer, whyNoEtcd } from '../../etcd-server.ts';
import { StoreProcess } from '../store-process.ts';
import { FakeClock, failureOf, put, SILENT, WatchRecorder } from '../support.ts';

const reason = whyNoEtcd();
const clock = createClock();

describe.skipIf(reason !== undefined)(`EtcdStore under faults${reason === undefined ? '' : ` (${reason})`}`, () => {
  let server: EtcdServer;
  let store: Store;
  let prefix = '';
  let count = 0;

  beforeAll(async () => {
    server = await EtcdServer.start();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    prefix = `/fault-${count++}/`;
    store = await openStore(server.url, { clock, log: SILENT });
  });
  afterEach(async () => {
    server.resume();
    await store.close();
  });

  it('ends each call on a server that is stopped: reads fail, writes are in doubt', async () => {
    await put(store, `${prefix}a`, '1');
    await server.pause();
    const [read, write, lease] = await Promise.all([
      failureOf(store.get(`${prefix}a`)),
      failureOf(put(store, `${prefix}a`, '2')),
      failureOf(store.leaseGrant(5_000)),
    ]);
    expect([read.code, write.code, lease.code]).toEqual([
      'StoreUnavailable',
      'StoreUnknownOutcome',
      'StoreUnavailable',
    ]);
    server.resume();
    // The one in doubt had been sent: it lands, late or not, before or after this read, but no other value does.
    expect(['1', '2']).toContain((await store.get(`${prefix}a`))?.value);
  });

  it('settles a write that was in doubt: it is there exactly once', async () => {
    const key = `${prefix}a`;
    await store.get(key);
    await server.pause();
    let wasInDoubt = false;
    const settled = settle({
      clock,
      run: () => store.txn({ if: [{ key, createRevision: 0n }], then: [{ put: key, value: 'mine' }] }),
      happened: async () => (await store.get(key))?.value === 'mine',
      onWaiting: (error) => {
        wasInDoubt ||= error.code === 'StoreUnknownOutcome';
        server.resume();
      },
    });
    expect((await settled).succeeded).toBe(true);
    expect(wasInDoubt).toBe(true);
    const entry = await store.get(key);
    expect(entry?.modRevision).toBe(entry?.createRevision);
  });

  it('serves at once after many failures and a restart, watches included, and loses no event', async () => {
    const witness = await openStore(server.url, { clock, log: SILENT });
    const { revision } = await put(store, `${prefix}start`, '');
    const watch = new WatchRecorder(witness, prefix, revision + 1n);
    await put(store, `${prefix}a`, '1');
    await watch.until((story) => story.length === 1);
    await server.kill();
    // More failures than the client's circuit breaker would bear, on the services that share it.
    const calls = Array.from({ length: 4 }, () => [store.get(prefix), store.leaseGrant(5_000)]);
    const write = failureOf(put(store, `${prefix}b`, 'not received'));
    const failures = await Promise.all(calls.flat().map(failureOf));
    expect(failures.map((error) => error.code)).toEqual(Array(8).fill('StoreUnavailable'));
    // In doubt if the connection had not noticed the death yet when it was sent.
    expect(['StoreUnavailable', 'StoreUnknownOutcome']).toContain((await write).code);
    await server.restart();
    // Through another connection, before the watch may be back.
    const other = await openStore(server.url, { clock, log: SILENT });
    await put(other, `${prefix}b`, '2');
    await put(store, `${prefix}c`, '3');
    await watch.until((story) => story.length === 3);
    expect(watch.story).toEqual([`${prefix}a=1`, `${prefix}b=2`, `${prefix}c=3`]);
    watch.cancel();
    await Promise.all([witness.close(), other.close()]);
  });

  it('resumes a watch after the server was stopped and calls had given it up', async () => {
    const { revision } = await put(store, `${prefix}start`, '');
    const watch = new WatchRecorder(store, prefix, revision + 1n);
    await put(store, `${prefix}a`, '1');
    await watch.until((story) => story.length === 1);
    await server.pause();
    await failureOf(store.get(prefix));
    server.resume();
    await put(store, `${prefix}b`, '2');
    await watch.until((story) => story.length === 2);
    expect(watch.story).toEqual([`${prefix}a=1`, `${prefix}b=2`]);
    watch.cancel();
  });

  it('lists again when what it missed while it was away was compacted', async () => {
    const { revision } = await put(store, `${prefix}a`, '1');
    const away = new WatchRecorder(store, prefix, revision + 1n);
    const states: string[] = [];
    let wake = (): void => {};
    const cancel = follow(
      store,
      prefix,
      {
        onSnapshot: (entries) => {
          states.push(entries.map((entry) => entry.value).join());
          wake();
        },
        onEvents: () => {},
        onEnd: (error) => states.push(error.message),
      },
      clock,
    );
    while (states.length < 1) await new Promise<void>((resolve) => (wake = resolve));
    await server.kill();
    await server.restart();
    // A stranger writes and compacts before our watches are back, or after: both must end well.
    const other = await openStore(server.url, { clock, log: SILENT });
    let last = revision;
    for (let i = 0; i < 5; i++) last = (await put(other, `${prefix}a`, `later ${i}`)).revision;
    await server.compact(last);
    const late = new WatchRecorder(store, prefix, revision + 1n);
    expect(await late.ended).toMatchObject({ code: 'StoreCompacted' });
    const outcome = await Promise.race([
      away.ended.then((error) => (error as { code?: string }).code),
      away.until((story) => story.length === 5).then(() => 'saw all'),
    ]);
    expect(['StoreCompacted', 'saw all']).toContain(outcome);
    away.cancel();
    cancel();
    await other.close();
  });

  it('suspends at its own deadline, not at twice the TTL, and goes on when the store still has the lease', async () => {
    // The owner's time passes by hand, so that its deadline is exact; the lease of the server outlasts the test.
    const own = new FakeClock();
    const sentAtMs = own.monotonicMs();
    const grant = await store.leaseGrant(60_000);
    await put(store, `${prefix}owner`, 'me', grant.leaseId);
    const story: string[] = [];
    const answers = new Answers();
    const keeper = keepLease({
      ...{ store, clock: own, sentAtMs, ...grant },
      onSuspend: () => story.push('suspended'),
      onResume: () => story.push('resumed'),
      onRenewed: () => answers.tell('renewed'),
      onFailed: ({ code }) => answers.tell(code),
      onLost: ({ code }) => answers.tell(code),
    });
    await server.pause();
    await own.advance(grant.grantedTtlMs - 1);
    expect(await answers.next()).toBe('StoreUnavailable');
    expect(keeper.isHeld()).toBe(true);
    await own.advance(1);
    expect(keeper.isHeld()).toBe(false);
    expect(story).toEqual(['suspended']);
    // A restarted server gives all leases a new term: this outage costs time only.
    await server.restart();
    let answer = '';
    while (answer !== 'renewed') {
      answer = await answers.next(() => own.advance(1_000));
      expect(['renewed', 'StoreUnavailable']).toContain(answer);
    }
    await own.advance(0);
    expect(story).toEqual(['suspended', 'resumed']);
    expect(keeper.isHeld()).toBe(true);
    keeper.stop();
    expect((await store.get(`${prefix}owner`))?.leaseId).toBe(grant.leaseId);
  });

  it('closes wholly, also while the server is stopped or gone: nothing keeps the process alive', async () => {
    const child = new StoreProcess(server.url, 'close', [prefix]);
    await child.until('closed');
    expect(await child.exit()).toBe(0);
    await server.pause();
    const pending = failureOf(store.get(prefix));
    const watch = new WatchRecorder(store, prefix, 1n);
    await store.close();
    expect((await pending).code).toBe('StoreUnavailable');
    server.resume();
    expect(watch.story).toEqual([]);
    store = await openStore(server.url, { clock, log: SILENT });
  });

  it('notices a store that was wiped, and takes it for no empty one', async () => {
    const { revision } = await put(store, `${prefix}a`, '1');
    const watcher = await openStore(server.url, { clock, log: SILENT });
    const { leaseId } = await store.leaseGrant(60_000);
    const watch = new WatchRecorder(watcher, prefix, revision);
    await watch.until((story) => story.length === 1);
    await server.wipe();
    await server.restart();
    expect(await watch.ended).toMatchObject({ code: 'StoreReplaced' });
    expect((await failureOf(watcher.get(`${prefix}a`))).code).toBe('StoreReplaced');
    // Another connection notices by its next call.
    expect((await failureOf(store.get(`${prefix}a`))).code).toBe('StoreReplaced');
    for (const call of [put(store, `${prefix}a`, '2'), store.leaseKeepAlive(leaseId), store.identity()]) {
      expect((await failureOf(call)).code).toBe('StoreReplaced');
    }
    await watcher.close();
  });
});

/** What became of the owner's tries to renew, one after the other. */
class Answers {
  readonly #told: string[] = [];
  #wake = (): void => {};

  tell(answer: string): void {
    this.#told.push(answer);
    this.#wake();
  }

  /** The next one that was not asked for yet; `act` may lead to it. */
  async next(act = async (): Promise<void> => {}): Promise<string> {
    await act();
    while (this.#told.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#told.shift()!;
  }
}
