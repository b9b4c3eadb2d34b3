/**
 * Pushes and pulls of all sizes for a long time, over connections that also come and go: between two processes that only carry
 * them, and between trainers' clients and a pserver that applies them. Memory has to stay flat. Run:
 * `npx node scripts/bench/soak.ts --minutes 60`. A line a minute (`--every SECONDS` changes that) with the resident memory of
 * the processes, the payloads that are landed and not freed, and the kernel memory of the pserver. Exit code 1 if memory grew.
 *
 * All processes have the options of the executable: without, the young generation of each grows by up to 100 MB, in steps over hours.
 */
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Channel } from '../../src/protocol/channel.ts';
import { ENGINE_OPTIONS } from '../build-steps/engine-options.ts';
import { createPushers } from './applied-pushes.ts';
import { median } from './figure.ts';
import { MiB } from './raw-tcp.ts';
import { landingPool, type MemoryNow, memoryNow, network, pull, push, startWireServer } from './wire-peer.ts';

const SIZES = [100, 4096, 65_536, 300_000, MiB, 3 * MiB, 16 * MiB];
/** Above this between the first and the last third of the lines, memory grows. */
const MAX_GROWTH_MIB = 32;
const CHANNELS = 3;
const REQUESTS_OF_A_CHANNEL = 2000;

if (!ENGINE_OPTIONS.every((option) => process.execArgv.includes(option))) {
  // Processes that are forked from it have its options.
  const { status } = spawnSync(process.execPath, [...ENGINE_OPTIONS, ...process.argv.slice(1)], { stdio: 'inherit' });
  process.exit(status ?? 1);
}

const { values } = parseArgs({ options: { minutes: { type: 'string' }, every: { type: 'string' } } });
const untilMs = performance.now() + Number(values.minutes ?? '60') * 60_000;
const everyMs = Number(values.every ?? '60') * 1000;

const server = await startWireServer();
const pool = landingPool();
const net = network();
const landing = (byteLength: number) => pool.allocate(byteLength);
let requests = 0;
let bytes = 0;

/** One channel after the other, each with requests of all sizes, several at a time. */
async function work(seed: number): Promise<void> {
  for (let n = seed; performance.now() < untilMs; ) {
    const channel = net.connect(server.address, { landing });
    const one = async (): Promise<void> => {
      for (let i = 0; i < REQUESTS_OF_A_CHANNEL && performance.now() < untilMs; i++) {
        const byteLength = SIZES[n++ % SIZES.length]!;
        await (n % 2 === 0 ? push(payloads[n % SIZES.length]!) : pull(byteLength))(channel);
        requests++;
        bytes += byteLength;
      }
    };
    await Promise.all([one(), one(), one(), one()]);
    channel.close();
  }
}
const payloads = SIZES.map((byteLength) => new Uint8Array(byteLength).fill(1));

async function serverMemory(channel: Channel): Promise<MemoryNow> {
  const reply = await channel.request({ header: { type: 'info' } }, { timeoutMs: 30_000 });
  reply.free();
  return reply.header.info as unknown as MemoryNow;
}

const applied = await createPushers();
const rss: number[] = [];
async function watch(): Promise<void> {
  const channel = net.connect(server.address, { landing });
  for (let minute = 1; performance.now() < untilMs; minute++) {
    await sleep(Math.max(0, Math.min(everyMs, untilMs - performance.now())));
    const there = await serverMemory(channel);
    const here = memoryNow(pool);
    const pserver = await applied.memory();
    rss.push(there.rssMiB + here.rssMiB + pserver.rssMiB);
    const side = (name: string, { rssMiB, landings, keptMiB }: MemoryNow): string =>
      `${name} rss ${rssMiB.toFixed(0)} MiB, landed ${landings}, kept ${keptMiB.toFixed(0)} MiB`;
    const done = `${requests} requests, ${(bytes / 1e9).toFixed(1)} GB`;
    const kernel = `pserver rss ${pserver.rssMiB.toFixed(0)} MiB, kernel memory ${pserver.reservedMiB.toFixed(0)} MiB`;
    const pushes = `${applied.pushes()} pushes applied`;
    const sides = [side('server', there), side('client', here), kernel].join('; ');
    process.stdout.write(`${minute}: ${done}, ${pushes}; ${sides}\n`);
  }
  channel.close();
}

const working = Array.from({ length: CHANNELS }, (_, i) => work(i));
await Promise.all([watch(), ...working, applied.run(untilMs)]);
server.close();
applied.close();
const third = Math.max(1, Math.floor(rss.length / 3));
const growth = median(rss.slice(-third)) - median(rss.slice(0, third));
process.stdout.write(`memory of all: ${growth >= 0 ? '+' : ''}${growth.toFixed(0)} MiB from first to last third\n`);
process.stdout.write(`landed and not freed: ${pool.inUse}\n`);
process.exitCode = growth > MAX_GROWTH_MIB || pool.inUse > 0 ? 1 : 0;
