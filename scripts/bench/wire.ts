/**
 * What the wire carries between two processes of this machine, beside raw TCP in the same run: push and pull from 4 KB
 * to 100 MB, and how long a small pull takes while large pushes run. Run: `npx node scripts/bench/wire.ts`, or `npm run
 * bench`.
 */
import { fileURLToPath } from 'node:url';
import type { Channel } from '../../src/protocol/messages/channel.ts';
import { type Figure, median, percentile, printFigures } from './figure.ts';
import { MiB, startRawTcp } from './raw-tcp.ts';
import { callRate, cpuMs, network, pull, push, startPusher, startWireServer } from './wire-peer.ts';

const KiB = 1024;
/** Many short rounds: other work on the machine disturbs some of them, seldom all. */
const ROUNDS = 11;
const ROUND_MS = 100;
/** Until the compilers of both processes have settled: they take seconds, and the cores that are measured. */
const WARM_UP_MS = 3_000;
const SMALL_ROUND_MS = 400;

const LARGE = [
  { name: '64 KB', byteLength: 64 * KiB, inFlight: 32, aim: 0.7 },
  { name: '1 MB', byteLength: MiB, inFlight: 1, aim: 0.9 },
  { name: '16 MB', byteLength: 16 * MiB, inFlight: 1, aim: 0.9 },
  { name: '100 MB', byteLength: 100 * MiB, inFlight: 1, aim: 0.9 },
];

export async function measureWire(): Promise<Figure[]> {
  const raw = await startRawTcp();
  const server = await startWireServer();
  const channel = network().connect(server.address);
  const overTcp = network({ unixSockets: false }).connect(server.address);
  const figures: Figure[] = [];
  try {
    // First: with 100 MB in its memory a process collects garbage at a higher price.
    for (const op of ['push', 'pull'] as const) figures.push(...(await measureSmall(channel, op)));
    for (const one of [channel, overTcp]) {
      for (const call of [push(new Uint8Array(64 * KiB)), pull(64 * KiB)]) await callRate(one, call, 32, WARM_UP_MS);
    }
    for (const { name, byteLength, inFlight, aim } of LARGE) {
      const payload = new Uint8Array(byteLength).fill(1);
      for (const op of ['push', 'pull'] as const) {
        const call = op === 'push' ? push(payload) : pull(byteLength);
        const rounds = { raw: [] as number[], local: [] as number[], tcp: [] as number[] };
        for (let round = -1; round < ROUNDS; round++) {
          const rawRate = await raw.rate(op, byteLength, inFlight, ROUND_MS);
          const localRate = await callRate(channel, call, inFlight, ROUND_MS);
          const tcpRate = await callRate(overTcp, call, inFlight, ROUND_MS);
          // The first round warms up.
          if (round < 0) continue;
          rounds.raw.push(rawRate);
          rounds.local.push(localRate);
          rounds.tcp.push(tcpRate);
        }
        const gigabytes = (rates: readonly number[]): number => (median(rates) * byteLength) / 1e9;
        const ratio = (rates: readonly number[]): number => median(rates.map((rate, i) => rate / rounds.raw[i]!));
        const what = `${op} ${name}, ${inFlight} in flight`;
        const limit = { what: 'raw TCP', value: gigabytes(rounds.raw) };
        figures.push({
          what,
          value: gigabytes(rounds.local),
          unit: 'GB/s',
          limit,
          ratio: ratio(rounds.local),
          best: Math.max(...rounds.local) / Math.max(...rounds.raw),
          aim: { of: 'ratio', bound: aim, best: 'high' },
        });
        figures.push({
          what: `  over TCP`,
          value: gigabytes(rounds.tcp),
          unit: 'GB/s',
          limit,
          ratio: ratio(rounds.tcp),
          best: Math.max(...rounds.tcp) / Math.max(...rounds.raw),
        });
      }
    }
    figures.push(await measureLatency(server.address));
  } finally {
    channel.close();
    overTcp.close();
    raw.close();
    server.close();
  }
  return figures;
}

async function measureSmall(channel: Channel, op: 'push' | 'pull'): Promise<Figure[]> {
  const call = op === 'push' ? push(new Uint8Array(4 * KiB)) : pull(4 * KiB);
  await callRate(channel, call, 32, WARM_UP_MS);
  const figures: Figure[] = [];
  for (const inFlight of [1, 32]) {
    const rates: number[] = [];
    const busierUs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = [cpuMs(), await serverCpuMs(channel)];
      const startMs = performance.now();
      const rate = await callRate(channel, call, inFlight, SMALL_ROUND_MS);
      const calls = (rate * (performance.now() - startMs)) / 1000;
      const after = [cpuMs(), await serverCpuMs(channel)];
      rates.push(rate);
      busierUs.push((1000 * Math.max(after[0]! - before[0]!, after[1]! - before[1]!)) / calls);
    }
    const what = `${op} 4 KB, ${inFlight} in flight`;
    const figure = { what, value: median(rates), bestValue: Math.max(...rates), unit: 'requests/s' };
    figures.push(inFlight === 1 ? figure : { ...figure, aim: { of: 'value', bound: 100_000, best: 'high' } });
    // What is left of the aim when others use the cores: under 10 us, two free cores do more than 100,000 a second.
    const bestValue = Math.min(...busierUs);
    figures.push({ what: '  CPU of the busier process', value: median(busierUs), bestValue, unit: 'us/request' });
  }
  return figures;
}

async function serverCpuMs(channel: Channel): Promise<number> {
  const reply = await channel.request({ header: { type: 'info' } }, { timeoutMs: 30_000 });
  reply.free();
  return Number(reply.header.info.cpuMs);
}

async function measureLatency(address: string): Promise<Figure> {
  const channel = network().connect(address);
  const call = pull(4 * KiB);
  await call(channel);
  const stop = await startPusher(address);
  const tookMs: number[] = [];
  const startMs = performance.now();
  while (performance.now() - startMs < 4_000) {
    const beganMs = performance.now();
    await call(channel);
    tookMs.push(performance.now() - beganMs);
  }
  stop();
  channel.close();
  return {
    what: 'p99 of a 4 KB pull while 100 MB pushes run',
    value: percentile(tookMs, 0.99),
    unit: 'ms',
    aim: { of: 'value', bound: 10, best: 'low' },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures(await measureWire());
