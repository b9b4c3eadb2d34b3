/**
 * What the wire carries between two processes on loopback: requests/s of 4 KB pushes with 1 and 32 in flight, GB/s of
 * pushes and pulls of 1 and 16 MB. Run: `npx node scripts/bench/wire.ts` (about 10 s).
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Channel } from '../../src/protocol/channel.ts';
import { createWebSocketNetwork } from '../../src/protocol/websocket-network.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const TIMEOUT = { timeoutMs: 30_000 };
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const network = createWebSocketNetwork({
  clock: {
    monotonicMs: () => performance.now(),
    wallSeconds: () => Date.now() / 1000,
    after: (delayMs, fire) => {
      const timer = setTimeout(fire, delayMs);
      return () => clearTimeout(timer);
    },
  },
  random: { uuid: () => crypto.randomUUID(), fraction: Math.random },
  log: silent,
});

/** Kernel memory for payloads to land in, as a pserver has it: one block that is used again. */
function kernelLanding(): (byteLength: number) => { byteLength: number; bytes(): Uint8Array; free(): void } {
  const memory = new WebAssembly.Memory({ initial: 2048, maximum: 4096 });
  const free: { at: number; byteLength: number }[] = [];
  let top = 0;
  return (byteLength) => {
    const reused = free.findIndex((block) => block.byteLength === byteLength);
    const block = reused < 0 ? { at: top, byteLength } : free.splice(reused, 1)[0]!;
    if (reused < 0) top += Math.ceil(byteLength / 8) * 8;
    return {
      byteLength,
      bytes: () => new Uint8Array(memory.buffer, block.at, byteLength),
      free: () => void free.push(block),
    };
  };
}

async function serve(): Promise<void> {
  const values = new Uint8Array(16 * MiB).fill(1);
  const server = await network.listen({
    listen: '127.0.0.1:0',
    http: async () => undefined,
    landing: kernelLanding(),
    handler: ({ header }) =>
      header.type === 'pull'
        ? { header: { type: 'pull' }, segments: [values.subarray(0, header.placement.shards)] }
        : { header: { type: 'push', outcome: 'applied', recovery: 0 } },
  });
  process.send?.(server.port);
  process.once('disconnect', () => void server.close());
}

const part = { job: 'bench', cut: 'bench', dense: [], sparse: [] };
type Call = (channel: Channel) => Promise<void>;

const push = (payload: Uint8Array): Call => {
  const header = { type: 'push' as const, ...part, pass: 0, task: 0, push: 0, last: false, good: 0 };
  const placement = { revision: '1', shards: 1 };
  const message = { header: { ...header, placement }, segments: [payload] };
  return async (channel) => (await channel.request(message, TIMEOUT)).free();
};

/** The size wanted travels in a field that this handler has no other use for. */
const pull = (byteLength: number): Call => {
  const header = { type: 'pull' as const, ...part, placement: { revision: '1', shards: byteLength } };
  return async (channel) => (await channel.request({ header }, TIMEOUT)).free();
};

/** Calls a second, over about `forMs` after a warm-up. */
async function rate(channel: Channel, call: Call, inFlight: number, forMs: number): Promise<number> {
  const run = async (untilMs: number): Promise<number> => {
    let calls = 0;
    const worker = async (): Promise<void> => {
      while (performance.now() < untilMs) {
        await call(channel);
        calls++;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    return calls;
  };
  await run(performance.now() + forMs / 4);
  const startMs = performance.now();
  const calls = await run(startMs + forMs);
  return (calls * 1000) / (performance.now() - startMs);
}

async function measure(): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), ['serve']);
  const [port] = (await once(server, 'message')) as [number];
  const channel = network.connect(`127.0.0.1:${port}`);
  const rows: Record<string, string>[] = [];
  for (const inFlight of [1, 32]) {
    const perSecond = await rate(channel, push(new Uint8Array(4 * KiB)), inFlight, 1000);
    rows.push({ what: 'push 4 KB', inFlight: String(inFlight), result: `${Math.round(perSecond)} requests/s` });
  }
  for (const mib of [1, 16]) {
    const payload = new Uint8Array(mib * MiB).fill(1);
    for (const inFlight of [1, 4]) {
      for (const [what, call] of [
        ['push', push(payload)],
        ['pull', pull(payload.length)],
      ] as const) {
        const perSecond = await rate(channel, call, inFlight, 700);
        const gigabytes = ((perSecond * payload.length) / 1e9).toFixed(2);
        rows.push({ what: `${what} ${mib} MB`, inFlight: String(inFlight), result: `${gigabytes} GB/s` });
      }
    }
  }
  // biome-ignore lint/suspicious/noConsole: the result of a script
  console.table(rows);
  channel.close();
  server.disconnect();
}

await (process.argv[2] === 'serve' ? serve() : measure());
