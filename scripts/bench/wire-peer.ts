/**
 * The two ends of the wire's benchmark, on paddlet's real network: a role that takes pushes and answers pulls, and its
 * client.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { LIMITS } from '../../src/base/limits.ts';
import type { Clock } from '../../src/base/seams.ts';
import { LandingPool } from '../../src/protocol/frames/landing-pool.ts';
import type { Channel, Network } from '../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import type { WebSocketNetworkOptions } from '../../src/protocol/websocket/wire-options.ts';
import { LARGEST_BYTES, MiB } from './raw-tcp.ts';
import { type Resident, resident } from './resident.ts';

const TIMEOUT = { timeoutMs: 60_000 };
export const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export const realClock: Clock = {
  monotonicMs: () => performance.now(),
  wallSeconds: () => Date.now() / 1000,
  after: (delayMs, fire) => {
    const timer = setTimeout(fire, delayMs);
    return () => clearTimeout(timer);
  },
};

const TOKEN = new Uint8Array(LIMITS.joinTokenBytes);

export function network(options: Partial<WebSocketNetworkOptions> = {}): Network {
  return createWebSocketNetwork({
    clock: realClock,
    random: { uuid: () => crypto.randomUUID(), fraction: Math.random },
    log: silent,
    joinToken: { current: async () => TOKEN, refresh: async () => TOKEN },
    ...options,
  });
}

/** Processor time of this process so far. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** As a network has one of its own, but counted here. */
export function landingPool(): LandingPool {
  const pool = new LandingPool(LIMITS.frameBytes);
  pool.enter();
  return pool;
}

export interface MemoryNow extends Resident {
  readonly landings: number;
  readonly keptMiB: number;
}

export const memoryNow = (pool: LandingPool): MemoryNow => ({
  ...resident(),
  landings: pool.inUse,
  keptMiB: pool.keptBytes / MiB,
});

async function serve(): Promise<void> {
  const values = new Uint8Array(LARGEST_BYTES).fill(1);
  const pool = landingPool();
  const server = await network().listen({
    listen: '127.0.0.1:0',
    http: async () => undefined,
    landing: (byteLength) => pool.allocate(byteLength),
    handler: ({ header }) => {
      if (header.type === 'info') {
        return { header: { type: 'info', info: { ...memoryNow(pool), cpuMs: cpuMs() } } };
      }
      return header.type === 'pull'
        ? { header: { type: 'pull', version: 0 }, segments: [values.subarray(0, header.placement.shards)] }
        : { header: { type: 'push', outcome: 'applied', recovery: 0 } };
    },
  });
  process.send?.(server.port);
  process.once('disconnect', () => process.exit());
}

export interface WireServer {
  readonly address: string;
  close(): void;
}

export async function startWireServer(): Promise<WireServer> {
  const server: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve']);
  const [port] = (await once(server, 'message')) as [number];
  return { address: `127.0.0.1:${port}`, close: () => server.disconnect() };
}

export type Call = (channel: Channel) => Promise<void>;

const part = { job: 'bench-job-0123456789', batchPlanId: 'bench-cut-0123456789', dense: [], sparse: [] };

export function push(payload: Uint8Array): Call {
  const header = { type: 'push' as const, ...part, pass: 0, task: 0, push: 0, last: false, good: 0 };
  const message = { header: { ...header, placement: { revision: '1', shards: 1 } }, segments: [payload] };
  return async (channel) => (await channel.request(message, TIMEOUT)).free();
}

/** The size wanted travels in a field that this handler has no other use for. */
export function pull(byteLength: number): Call {
  const header = { type: 'pull' as const, ...part, placement: { revision: '1', shards: byteLength } };
  return async (channel) => (await channel.request({ header }, TIMEOUT)).free();
}

/** Calls a second, `inFlight` at a time, over about `forMs`. */
export async function callRate(channel: Channel, call: Call, inFlight: number, forMs: number): Promise<number> {
  const startMs = performance.now();
  let calls = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - startMs < forMs) {
      await call(channel);
      calls++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (calls * 1000) / (performance.now() - startMs);
}

/** Pushes of 100 MB, one after the other, until the parent has gone. */
async function pushForEver(address: string): Promise<void> {
  const channel = network().connect(address);
  const call = push(new Uint8Array(LARGEST_BYTES).fill(1));
  process.once('disconnect', () => process.exit());
  await call(channel);
  process.send?.('pushing');
  for (;;) await call(channel);
}

/** Another process that pushes 100 MB again and again. Returns what ends it. */
export async function startPusher(address: string): Promise<() => void> {
  const pusher = fork(fileURLToPath(import.meta.url), ['push', address]);
  await once(pusher, 'message');
  return () => pusher.disconnect();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'serve') await serve();
  if (process.argv[2] === 'push') await pushForEver(process.argv[3]!);
}
