/**
 * Pushes that are applied and pulls, through a socket between a trainer's client and a pserver: sparse rows and dense
 * parameters, with SGD, beside raw TCP in the same run. Run: `npx node scripts/bench/pushing.ts`, or `npm run bench`.
 */
import { fileURLToPath } from 'node:url';
import type { ParameterClient } from '../../src/cluster/client/parameter-client.ts';
import { createIdRouter, type IdList } from '../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { type Figure, median, printFigures } from './figure.ts';
import { shuffledIds } from './made-ids.ts';
import { connectTrainer, infoOf, SHARDS, startPserver } from './pserver-peer.ts';
import { MiB, startRawTcp } from './raw-tcp.ts';
import { type Resident, resident } from './resident.ts';
import { cpuMs } from './wire-peer.ts';

/** Long rounds: the first push of one has nothing to overlap with. */
const ROUNDS = 9;
const ROUND_MS = 1_000;
const KEYS = 1_000_000;
const WIDTH = 16;
/** A trainer pulls for the next push while one is on its way. */
const IN_FLIGHT = 2;

const never = new AbortController().signal;

/** What one worker does again and again; each has a task of its own, so that its pushes count. */
type Work = (worker: number) => Promise<void>;

async function rate(work: Work, forMs: number): Promise<{ readonly perSecond: number; readonly done: number }> {
  const startMs = performance.now();
  let done = 0;
  const one = async (worker: number): Promise<void> => {
    do {
      await work(worker);
      done++;
    } while (performance.now() - startMs < forMs);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, worker) => one(worker)));
  return { perSecond: (done * 1000) / (performance.now() - startMs), done };
}

interface Job {
  readonly client: ParameterClient;
  /** By table. */
  readonly ids: readonly IdList[];
  readonly dense: readonly Float32Array[];
  readonly sparse: readonly Float32Array[];
}

function works({ client, ids, dense, sparse }: Job, firstTask: number): { push: Work; pull: Work; both: Work } {
  const pushes: number[] = [];
  const push: Work = async (worker) => {
    const number = pushes[worker] ?? 0;
    pushes[worker] = number + 1;
    const header = { pass: 0, task: firstTask + worker, push: number, last: false, good: 1 };
    const { duplicate } = await client.push(header, { dense, sparse, ids }, never);
    if (duplicate) throw new Error('a push was not applied');
  };
  const pull: Work = async () => client.recycle(await client.pull(ids, never));
  const both: Work = async (worker) => {
    await push(worker);
    await pull(worker);
  };
  return { push, pull, both };
}

const sparseSpec: ParameterSpec = {
  dense: [],
  sparse: [{ name: 'rows', width: WIDTH, initializer: { type: 'zeros' } }],
};

/** Million keys a second: each of them with its row. */
export async function measureSparse(): Promise<Figure[]> {
  const server = await startPserver(sparseSpec);
  const trainer = connectTrainer(sparseSpec, server.address);
  try {
    const empty = (await infoOf(trainer)).resident;
    const some = shuffledIds(KEYS);
    const [route] = createIdRouter({ shards: SHARDS }).route('rows', some, KEYS, new Int32Array(SHARDS));
    const sparse = [new Float32Array(KEYS * WIDTH).fill(0.001)];
    const grouped = { client: trainer.client, ids: [{ ids: route!.ids, count: KEYS }], dense: [], sparse };
    const mixed = { ...grouped, ids: [{ ids: some, count: KEYS }] };
    const inOrder = works(grouped, 0);
    const inAny = works(mixed, IN_FLIGHT);
    const aims = { push: 14, pull: 15, both: 9 } as const;
    const names = { push: 'push', pull: 'pull', both: 'push+pull' } as const;
    const serverCpuMs = async (): Promise<number> => (await infoOf(trainer)).cpuMs;
    const figures: Figure[] = [];
    for (const op of ['push', 'pull', 'both'] as const) {
      const rates: number[] = [];
      const busierMs: number[] = [];
      for (let round = -1; round < ROUNDS; round++) {
        const before = [cpuMs(), await serverCpuMs()];
        const { perSecond, done } = await rate(inOrder[op], ROUND_MS);
        const after = [cpuMs(), await serverCpuMs()];
        if (round < 0) continue;
        rates.push((perSecond * KEYS) / 1e6);
        busierMs.push(Math.max(after[0]! - before[0]!, after[1]! - before[1]!) / done);
      }
      figures.push({
        what: `${names[op]} of 1 M random ids × ${WIDTH}`,
        value: median(rates),
        bestValue: Math.max(...rates),
        unit: 'M keys/s',
        aim: { of: 'value', bound: aims[op], best: 'high' },
      });
      // What the aim needs when others use the cores: two free ones carry 1000 / this.
      figures.push({
        what: '  CPU of the busier process',
        value: median(busierMs),
        bestValue: Math.min(...busierMs),
        unit: 'ms/M keys',
      });
      const inAnyRates: number[] = [];
      for (let round = -1; round < ROUNDS / 3; round++) {
        const { perSecond } = await rate(inAny[op], ROUND_MS);
        if (round >= 0) inAnyRates.push((perSecond * KEYS) / 1e6);
      }
      const bestValue = Math.max(...inAnyRates);
      figures.push({ what: '  ids in any order', value: median(inAnyRates), bestValue, unit: 'M keys/s' });
    }
    const full = (await infoOf(trainer)).resident;
    const memory = (what: string, { rssMiB }: Resident): Figure => ({ what, value: rssMiB, unit: 'MiB resident' });
    figures.push(memory('pserver, no rows', empty));
    figures.push(memory(`pserver, ${KEYS / 1e6} M rows × ${WIDTH}, pushed and pulled`, full));
    figures.push(memory('its trainer', resident()));
    return figures;
  } finally {
    trainer.close();
    server.close();
  }
}

const denseSpec = (byteLength: number): ParameterSpec => ({
  dense: [{ name: 'w', shape: [byteLength / 4], initializer: { type: 'zeros' } }],
  sparse: [],
});

/** GB/s of floats one way, also for push+pull. */
export async function measureDense(): Promise<Figure[]> {
  const raw = await startRawTcp();
  const figures: Figure[] = [];
  try {
    for (const mebibytes of [100, 16]) {
      const byteLength = mebibytes * MiB;
      const spec = denseSpec(byteLength);
      const server = await startPserver(spec);
      const trainer = connectTrainer(spec, server.address);
      try {
        const dense = [new Float32Array(byteLength / 4).fill(0.001)];
        const work = works({ client: trainer.client, ids: [], dense, sparse: [] }, 0);
        const rounds = { raw: [] as number[], push: [] as number[], both: [] as number[] };
        for (let round = -1; round < ROUNDS; round++) {
          const gigabytes = (perSecond: number): number => (perSecond * byteLength) / 1e9;
          const measured = {
            raw: gigabytes(await raw.rate('push', byteLength, IN_FLIGHT, ROUND_MS)),
            push: gigabytes((await rate(work.push, ROUND_MS)).perSecond),
            both: gigabytes((await rate(work.both, ROUND_MS)).perSecond),
          };
          if (round < 0) continue;
          for (const key of ['raw', 'push', 'both'] as const) rounds[key].push(measured[key]);
        }
        const limit = { what: 'raw TCP push', value: median(rounds.raw) };
        const figure = (op: 'push' | 'both') => ({
          value: median(rounds[op]),
          unit: 'GB/s',
          limit,
          ratio: median(rounds[op].map((one, i) => one / rounds.raw[i]!)),
          best: Math.max(...rounds[op]) / Math.max(...rounds.raw),
        });
        const what = `${mebibytes} MB`;
        const pushAim = mebibytes === 100 ? { aim: { of: 'ratio', bound: 0.75, best: 'high' } as const } : {};
        // 1.5 GB/s where raw TCP gives 4.
        const bothAim = mebibytes === 16 ? { aim: { of: 'ratio', bound: 1.5 / 4, best: 'high' } as const } : {};
        figures.push({ ...figure('push'), ...pushAim, what: `push ${what}, SGD applied` });
        figures.push({ ...figure('both'), ...bothAim, what: `push+pull ${what}, SGD applied` });
      } finally {
        trainer.close();
        server.close();
      }
    }
  } finally {
    raw.close();
  }
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  printFigures([...(await measureSparse()), ...(await measureDense())]);
