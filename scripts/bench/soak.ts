/**
 * Pushes and pulls of all sizes for a long time, over connections that also come and go: between two processes that
 * only carry them, and between trainers' clients and a pserver that applies them. Memory has to stay flat. Run: `npx
 * node scripts/bench/soak.ts --minutes 60`. A line a minute (`--every SECONDS` changes that) with the resident memory
 * of the processes, what of it V8's heap is and what is in buffers, the payloads that are landed and not freed, and the
 * kernel memory of the pserver. Exit code 1 if memory grew.
 *
 * `--collect` has every process collect its garbage before each line: then "used" is what is alive. `--largest BYTES`
 * leaves out the requests that are larger, for many small ones.
 */
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Channel } from '../../src/protocol/messages/channel.ts';
import { ENGINE_OPTIONS } from '../build-steps/engine-options.ts';
import { createPushers } from './applied-pushes.ts';
import { median } from './figure.ts';
import { MiB } from './raw-tcp.ts';
import type { Resident } from './resident.ts';
import { landingPool, type MemoryNow, memoryNow, network, pull, push, startWireServer } from './wire-peer.ts';

const ALL_SIZES = [100, 4096, 65_536, 300_000, MiB, 3 * MiB, 16 * MiB];
/** Above this between the first and the last third of the lines, memory grows. */
const MAX_GROWTH_MIB = 32;
const CHANNELS = 3;
const REQUESTS_OF_A_CHANNEL = 2000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    every: { type: 'string', default: '60' },
    largest: { type: 'string', default: `${Math.max(...ALL_SIZES)}` },
    collect: { type: 'boolean', default: false },
  },
});

/**
 * Options of all processes: those of the executable, and the maximum size of the young generation from the start. V8
 * otherwise doubles that size whenever enough survived, every few minutes or every hour, and halves it again. Each step
 * is 13 MB, which neither paddlet nor a leak uses.
 */
const OPTIONS = [...ENGINE_OPTIONS, '--min-semi-space-size=16', ...(values.collect ? ['--expose-gc'] : [])];
if (!OPTIONS.every((option) => process.execArgv.includes(option))) {
  // Processes that are forked from it have its options.
  const { status } = spawnSync(process.execPath, [...OPTIONS, ...process.argv.slice(1)], { stdio: 'inherit' });
  process.exit(status ?? 1);
}

const SIZES = ALL_SIZES.filter((byteLength) => byteLength <= Number(values.largest));
if (SIZES.length === 0) throw new Error(`--largest ${values.largest}: the smallest request has ${ALL_SIZES[0]} bytes`);
const untilMs = performance.now() + Number(values.minutes) * 60_000;
const everyMs = Number(values.every) * 1000;

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
const PROCESSES = ['server', 'client', 'pserver'] as const;
const seen = { server: [] as Resident[], client: [] as Resident[], pserver: [] as Resident[] };

async function watch(): Promise<void> {
  const channel = net.connect(server.address, { landing });
  for (let minute = 1; performance.now() < untilMs; minute++) {
    await sleep(Math.max(0, Math.min(everyMs, untilMs - performance.now())));
    const now = { server: await serverMemory(channel), client: memoryNow(pool), pserver: await applied.memory() };
    for (const name of PROCESSES) seen[name].push(now[name]);
    const done = `${requests} requests, ${(bytes / 1e9).toFixed(1)} GB, ${applied.pushes()} pushes applied`;
    const landed = ({ landings, keptMiB }: MemoryNow): string => `landed ${landings}, kept ${keptMiB.toFixed(0)} MiB`;
    const wire = `server ${inWords(now.server)}, ${landed(now.server)}; client ${inWords(now.client)}, ${landed(now.client)}`;
    const kernel = `pserver ${inWords(now.pserver)}, kernel memory ${now.pserver.reservedMiB.toFixed(0)} MiB`;
    process.stdout.write(`${minute}: ${done}; ${wire}; ${kernel}\n`);
  }
  channel.close();
}

function inWords({ rssMiB, heapMiB, usedMiB, externalMiB }: Resident): string {
  const heap = `heap ${heapMiB.toFixed(0)}, used ${usedMiB.toFixed(1)}`;
  return `rss ${rssMiB.toFixed(0)} MiB (${heap}, external ${externalMiB.toFixed(0)})`;
}

/** Medians of the first and of the last third of the lines. */
function thirds(of: readonly Resident[]): readonly [first: Resident, last: Resident] {
  const third = Math.max(1, Math.floor(of.length / 3));
  const medians = (lines: readonly Resident[]): Resident => ({
    rssMiB: median(lines.map(({ rssMiB }) => rssMiB)),
    heapMiB: median(lines.map(({ heapMiB }) => heapMiB)),
    usedMiB: median(lines.map(({ usedMiB }) => usedMiB)),
    externalMiB: median(lines.map(({ externalMiB }) => externalMiB)),
  });
  return [medians(of.slice(0, third)), medians(of.slice(-third))];
}

const working = Array.from({ length: CHANNELS }, (_, i) => work(i));
await Promise.all([watch(), ...working, applied.run(untilMs)]);
server.close();
applied.close();
let growth = 0;
for (const name of PROCESSES) {
  const [first, last] = thirds(seen[name]);
  growth += last.rssMiB - first.rssMiB;
  process.stdout.write(`${name}, first third: ${inWords(first)}; last third: ${inWords(last)}\n`);
}
process.stdout.write(`memory of all: ${growth >= 0 ? '+' : ''}${growth.toFixed(0)} MiB from first to last third\n`);
process.stdout.write(`landed and not freed: ${pool.inUse}\n`);
process.exitCode = growth > MAX_GROWTH_MIB || pool.inUse > 0 ? 1 : 0;
