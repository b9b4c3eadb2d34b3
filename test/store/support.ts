/** What the store's tests share. */
import type { Clock, Log } from '../../src/base/seams.ts';
import type { Store, WatchEvent } from '../../src/store/store.ts';

export const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Keeps what was logged, by message. */
export class RecordingLog implements Log {
  readonly messages: string[] = [];
  debug = (message: string): void => void this.messages.push(message);
  info = this.debug;
  warn = this.debug;
  error = this.debug;
}

/** A clock that moves only when told to; timers fire in order of time, then of setting. */
export class FakeClock implements Clock {
  #nowMs = 1_000;
  #timers: { at: number; fire: () => void }[] = [];

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallSeconds(): number {
    return this.#nowMs / 1000;
  }

  after(delayMs: number, fire: () => void): () => void {
    const timer = { at: this.#nowMs + delayMs, fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves on by `ms`, firing what is due on the way and letting promises settle between. */
  async advance(ms: number): Promise<void> {
    const until = this.#nowMs + ms;
    await settlePromises();
    for (;;) {
      const next = this.#timers.reduce<{ at: number; fire: () => void } | undefined>(
        (first, timer) => (timer.at <= until && (first === undefined || timer.at < first.at) ? timer : first),
        undefined,
      );
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.at);
      next.fire();
      await settlePromises();
    }
    this.#nowMs = until;
  }

  /** Moves the time without firing anything: a process that was stopped. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  get pendingTimers(): number {
    return this.#timers.length;
  }
}

const settlePromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Keeps what a watch delivers, and waits for it. */
export class WatchRecorder {
  readonly revisions: { readonly revision: bigint; readonly events: readonly WatchEvent[] }[] = [];
  readonly ended: Promise<Error>;
  readonly cancel: () => void;
  #wake: (() => void)[] = [];

  constructor(store: Store, prefix: string, fromRevision: bigint) {
    let end: (error: Error) => void = () => {};
    this.ended = new Promise((resolve) => {
      end = resolve;
    });
    this.cancel = store.watch(prefix, fromRevision, {
      onEvents: (events, revision) => {
        this.revisions.push({ events, revision });
        for (const wake of this.#wake.splice(0)) wake();
      },
      onEnd: (error) => end(error),
    });
  }

  get events(): WatchEvent[] {
    return this.revisions.flatMap((one) => one.events);
  }

  /** One short string an event: `key=value` or `-key`. */
  get story(): string[] {
    return this.events.map(storyOf);
  }

  async until(condition: (story: string[]) => boolean): Promise<void> {
    while (!condition(this.story)) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  /** Waits for the deletion of a key. */
  untilDeleted(key: string): Promise<void> {
    return this.until((story) => story.includes(`-${key}`));
  }
}

export const storyOf = (event: WatchEvent): string =>
  event.type === 'put' ? `${event.entry.key}=${event.entry.value}` : `-${event.key}`;

/** The error a promise is rejected with; fails when it is not. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('it was expected to fail');
}

export const put = (store: Store, key: string, value: string, leaseId?: bigint) =>
  store.txn({ if: [], then: [leaseId === undefined ? { put: key, value } : { put: key, value, leaseId }] });

/** Creates a key; false when it exists. */
export async function create(store: Store, key: string, value: string): Promise<boolean> {
  const { succeeded } = await store.txn({ if: [{ key, createRevision: 0n }], then: [{ put: key, value }] });
  return succeeded;
}
