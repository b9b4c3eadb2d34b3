/** A server, channels and a clock under the test's control, on real loopback sockets. */
import { afterEach, beforeEach, describe, onTestFinished, vi } from 'vitest';
import type { Cancel, Clock, Log } from '../../src/base/seams.ts';
import type { ReplyHeader, RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type {
  Channel,
  LandingAllocator,
  ListenOptions,
  Outgoing,
  RequestHandler,
  Server,
} from '../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import type { WebSocketNetworkOptions } from '../../src/protocol/websocket/wire-options.ts';
import { testToken } from './join.ts';

/** Time moves only when the test says so. */
export class ManualClock implements Clock {
  #nowMs = 0;
  #timers = new Set<{ readonly dueMs: number; readonly fire: () => void }>();

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallSeconds(): number {
    return this.#nowMs / 1000;
  }

  after(delayMs: number, fire: () => void): Cancel {
    const timer = { dueMs: this.#nowMs + delayMs, fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Fires what falls due, in order of time. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const next = [...this.#timers].filter((t) => t.dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.fire();
    }
    this.#nowMs = untilMs;
  }
}

/** Real time, for tests that wait for reconnection. */
export const realClock: Clock = {
  monotonicMs: () => performance.now(),
  wallSeconds: () => Date.now() / 1000,
  after: (delayMs, fire) => {
    const timer = setTimeout(fire, delayMs);
    return () => clearTimeout(timer);
  },
};

export class MemoryLog implements Log {
  readonly lines: string[] = [];
  #waiters: { readonly pattern: RegExp; readonly resolve: () => void }[] = [];

  debug = (message: string, facts?: object): void => this.#add('debug', message, facts);
  info = (message: string, facts?: object): void => this.#add('info', message, facts);
  warn = (message: string, facts?: object): void => this.#add('warn', message, facts);
  error = (message: string, facts?: object): void => this.#add('error', message, facts);

  /** Resolves when a line matches, also one written before. */
  said(pattern: RegExp): Promise<void> {
    if (this.lines.some((line) => pattern.test(line))) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ pattern, resolve }));
  }

  #add(level: string, message: string, facts: object | undefined): void {
    const line = `${level} ${message} ${facts === undefined ? '' : JSON.stringify(facts)}`;
    this.lines.push(line);
    for (const waiter of this.#waiters) if (waiter.pattern.test(line)) waiter.resolve();
  }
}

/** Every way that bytes come to a role; what networks take when they are told nothing is set by each. */
const PATHS = [
  { receive: 'direct', unixSockets: 'on' },
  { receive: 'direct', unixSockets: 'off' },
  { receive: 'data', unixSockets: 'off' },
  { receive: 'ws', unixSockets: 'on' },
] as const;

/** A suite that has to pass on every receive path, also in the processes that it starts. */
export function describeOnEveryPath(name: string, suite: () => void): void {
  describe.each(PATHS)(`${name} (receive $receive, Unix sockets $unixSockets)`, ({ receive, unixSockets }) => {
    beforeEach(() => {
      vi.stubEnv('PADDLET_RECEIVE', receive);
      vi.stubEnv('PADDLET_UNIX_SOCKETS', unixSockets);
    });
    afterEach(() => vi.unstubAllEnvs());
    suite();
  });
}

/** For roles that are reached through a relay, whose port is another one. */
export const throughRelay = { allow: { hosts: ['127.0.0.1'], origins: [] } };

export const fixedRandom = { uuid: () => crypto.randomUUID(), fraction: () => 0.5 };

export type RigOptions = Partial<Omit<WebSocketNetworkOptions, 'log'>> &
  Partial<Omit<ListenOptions, 'handler'>> & { readonly handler: ListenOptions['handler'] };

export interface Rig {
  readonly server: Server;
  readonly address: string;
  readonly log: MemoryLog;
  readonly bugs: unknown[];
  connect(options?: { readonly landing?: LandingAllocator }): Channel;
}

/** Starts a server; it and its channels are closed when the test ends. */
export async function rig(options: RigOptions): Promise<Rig> {
  const log = new MemoryLog();
  const bugs: unknown[] = [];
  const network = createWebSocketNetwork({
    clock: realClock,
    random: fixedRandom,
    joinToken: testToken,
    onBug: (error) => bugs.push(error),
    ...options,
    log,
  });
  const server = await network.listen({
    listen: options.listen ?? '127.0.0.1:0',
    handler: options.handler,
    ...(options.advertise === undefined ? {} : { advertise: options.advertise }),
    ...(options.allow === undefined ? {} : { allow: options.allow }),
    http: options.http ?? (async () => undefined),
    ...(options.landing === undefined ? {} : { landing: options.landing }),
    ...(options.onViewer === undefined ? {} : { onViewer: options.onViewer }),
    takesViewersOnly: options.takesViewersOnly ?? false,
  });
  const channels: Channel[] = [];
  onTestFinished(async () => {
    for (const channel of channels) channel.close();
    await server.close();
  });
  const address = `127.0.0.1:${server.port}`;
  return {
    server,
    address,
    log,
    bugs,
    connect: (connectOptions) => {
      const channel = network.connect(address, connectOptions);
      channels.push(channel);
      return channel;
    },
  };
}

/** A request of which these tests use only the number, which travels as the task, and the segments. */
export const numbered = (n: number, segments: readonly Uint8Array[] = []) => ({
  header: {
    type: 'push' as const,
    job: 'job-1',
    batchPlanId: 'plan-1',
    pass: 0,
    task: n,
    push: 0,
    last: true,
    good: 0,
    placement: { revision: '1', shards: 1 },
    dense: [],
    sparse: [],
  } satisfies RequestHeader,
  segments,
});

export const getTask = {
  header: {
    type: 'getTasks' as const,
    job: 'job-1',
    batchPlanId: 'plan-1',
    trainer: 't',
    held: [],
    most: 1,
    maxWaitMs: 60_000,
  },
};

export const info = { header: { type: 'info' as const } };

export function deferred<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (e: unknown) => void;
} {
  return Promise.withResolvers<T>();
}

export const applied: Outgoing<ReplyHeader> = { header: { type: 'push', outcome: 'applied', recovery: 0 } };
export const infoReply: Outgoing<ReplyHeader> = { header: { type: 'info', info: {} } };

/** Never answers pushes; `seen(n)` resolves when n of them came. */
export function holding(): { handler: RequestHandler; seen(n: number): Promise<void>; release(): void } {
  const gate = deferred<Outgoing<ReplyHeader>>();
  const waiters: { n: number; resolve: () => void }[] = [];
  let count = 0;
  return {
    handler: (request) => {
      if (request.header.type === 'info') return infoReply;
      count++;
      for (const waiter of waiters) if (waiter.n <= count) waiter.resolve();
      return gate.promise;
    },
    seen: (n) =>
      count >= n ? Promise.resolve() : new Promise((resolve) => waiters.push({ n, resolve: () => resolve() })),
    release: () => gate.resolve(applied),
  };
}
