/** The store of a job under test, as a stranger reads it: its keys, how far the tasks are, and waiting for either. */
import { onTestFinished } from 'vitest';
import type { Cancel } from '../../src/base/seams.ts';
import { StoredJoinToken } from '../../src/cluster/job/join-token.ts';
import { createBitmap } from '../../src/core/bitmap.ts';
import { createClock } from '../../src/host/clock.ts';
import { createHost } from '../../src/host/host.ts';
import type { Network } from '../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import { follow } from '../../src/store/follow.ts';
import { defaultChroot, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { type RetryOptions, retryUntilAnswered } from '../../src/store/retry-until-answered.ts';
import type { KeyValue, Store, WatchEvent } from '../../src/store/store.ts';
import type { Running } from './processes.ts';

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const clock = createClock();
/** Of a process that ended too early. */
const SHOWN_CHARACTERS = 2_000;

/** The job's keys without its chroot, with their values. */
export type Entries = ReadonlyMap<string, KeyValue>;

export class JobStore {
  readonly #store: Store;
  readonly #chroot: string;
  /** The store may be away: a fault has just hit it, or the machine is slow. */
  readonly #retry: RetryOptions;

  constructor(store: Store, chroot: string) {
    this.#store = store;
    this.#chroot = chroot;
    this.#retry = { clock, log: SILENT, store, signal: new AbortController().signal };
  }

  get url(): string {
    return this.#store.url;
  }

  /** Of a process that knows the job's join token. */
  network(): Network {
    const host = createHost({ logLevel: 'error', logFormat: 'text' });
    const keys = keysOf(this.#chroot);
    return createWebSocketNetwork({ ...host, joinToken: new StoredJoinToken({ ...host, store: this.#store, keys }) });
  }

  async entries(): Promise<Entries> {
    const { entries } = await retryUntilAnswered(this.#retry, () => this.#store.range({ prefix: `${this.#chroot}/` }));
    return new Map(entries.map((entry) => [this.#short(entry.key), entry]));
  }

  async get(key: string): Promise<KeyValue | undefined> {
    return retryUntilAnswered(this.#retry, () => this.#store.get(`${this.#chroot}${key}`));
  }

  /** Ends the lease of the key, whose owner must have exited: its successor need not wait until it runs out. */
  async endLease(key: string): Promise<void> {
    const entry = await this.get(key);
    if (entry !== undefined) await retryUntilAnswered(this.#retry, () => this.#store.leaseRevoke(entry.leaseId));
  }

  /** Follows the keys until `reached` says so of them; throws when `unless` ends before. */
  async until(reached: (entries: Entries) => boolean, unless?: Running): Promise<void> {
    const found = Promise.withResolvers<void>();
    const cancel = this.follow((entries) => {
      if (reached(entries)) found.resolve();
    }, found.reject);
    try {
      await Promise.race([found.promise, ...(unless === undefined ? [] : [hasEnded(unless)])]);
    } finally {
      cancel();
    }
  }

  /** Shows the keys as they are, and again whenever some have changed. */
  follow(look: (entries: Entries) => void, onEnd: (error: unknown) => void): Cancel {
    const entries = new Map<string, KeyValue>();
    const events = {
      onSnapshot: (all: readonly KeyValue[]): void => {
        entries.clear();
        for (const entry of all) entries.set(this.#short(entry.key), entry);
        look(entries);
      },
      onEvents: (changes: readonly WatchEvent[]): void => {
        for (const event of changes) {
          if (event.type === 'put') entries.set(this.#short(event.entry.key), event.entry);
          else entries.delete(this.#short(event.key));
        }
        look(entries);
      },
      onEnd,
    };
    return follow(this.#store, `${this.#chroot}/`, events, clock);
  }

  /** Until so many passes are over. */
  async passesOver(passes: number, unless?: Running): Promise<void> {
    await this.until((entries) => entries.has(`/tasks/passes/${passes - 1}`), unless);
  }

  /** Tasks done over all passes, as the master has saved it. */
  async tasksDone(): Promise<number> {
    let done = 0;
    for (const [key, { value }] of await this.entries()) {
      if (key.startsWith('/tasks/passes/')) done += (JSON.parse(value) as { done: number }).done;
      if (key.startsWith('/tasks/blocks/')) {
        const bits = Buffer.from((JSON.parse(value) as { done: string }).done, 'hex');
        done += createBitmap(bits.length * 8, bits).count();
      }
    }
    return done;
  }

  #short(key: string): string {
    return key.slice(this.#chroot.length);
  }
}

async function hasEnded(running: Running): Promise<never> {
  const { code, signal, err } = await running.ended;
  const how = signal ?? `exit code ${code}`;
  throw new Error(`${running.name} ended (${how}) before what was waited for:\n${err.slice(-SHOWN_CHARACTERS)}`);
}

/** Closed when the test is over. */
export async function openJobStore(url: string, job: string): Promise<JobStore> {
  const store = await openStore(url, { clock, log: SILENT });
  onTestFinished(() => store.close());
  return new JobStore(store, defaultChroot(job));
}
